import { type Problem, reasons } from '../../api/reasons.ts';

/** Always the same words: a message that said how many are missing would have every waiting object written again and again. */
export const admissionMissing: Problem = {
  reason: reasons.admissionMissing,
  message:
    'Nothing new is confirmed while an admission policy of Latchkey is missing, older or edited: a cluster administrator runs kubectl apply -k config/admission of the same release.',
};
