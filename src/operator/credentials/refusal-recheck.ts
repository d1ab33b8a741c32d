import { type Reason, reasons } from '../../api/reasons.ts';

/** Secrets of others and namespaces are not watched, so what is wrong with them is looked at often; milliseconds. */
const soon = 10_000;
/** Everything else comes again by itself when something changes. */
const late = 60_000;

/** How long after a refusal the credential is looked at again although nothing happened. */
export function refusalRecheck(reason: Reason): number {
  return reason === reasons.secretConflict || reason === reasons.secretFailed ? soon : late;
}
