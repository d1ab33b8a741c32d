import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { EventRecorder } from '../../kube/events/event-recorder.ts';
import type { Logger } from '../../kube/logger.ts';
import { regarding, type TransitionEvent } from '../shared/events.ts';

/** Tells people of transitions: as an event beside the object, and as a line in the log. */
export class CredentialEvents {
  readonly #recorder: EventRecorder;
  readonly #log: Logger;

  constructor(recorder: EventRecorder, log: Logger) {
    this.#recorder = recorder;
    this.#log = log;
  }

  record(record: CredentialRecord, events: readonly TransitionEvent[]): void {
    for (const { type, reason, action, note } of events) {
      this.#log.info({ kind: record.kind, name: record.key, reason }, 'credential changed');
      this.#recorder.record({ regarding: regarding(record), type, reason, action, note });
    }
  }

  loginSecretsMoved(record: CredentialRecord): void {
    const note = 'Login data was moved out of the spec into a Secret in the system namespace.';
    this.record(record, [{ type: 'Normal', reason: reasons.secretsMoved, action: 'Move', note }]);
  }

  finalizerReleased(record: CredentialRecord): void {
    const note =
      'The finalizer was released at its time limit; something that belonged to the credential may be left.';
    this.record(record, [{ type: 'Warning', reason: reasons.finalizerReleased, action: 'Finalize', note }]);
  }
}
