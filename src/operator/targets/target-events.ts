import { reasons } from '../../api/reasons.ts';
import type { EventRecorder } from '../../kube/events/event-recorder.ts';
import type { Logger } from '../../kube/logger.ts';
import type { TransitionEvent } from '../credentials/transition-events.ts';
import { type EventSubject, regarding } from '../shared/regarding.ts';

/** Tells people of transitions of targets: as an event beside the object, and as a line in the log. */
export class TargetEvents {
  readonly #recorder: Pick<EventRecorder, 'record'>;
  readonly #log: Logger;

  constructor(recorder: Pick<EventRecorder, 'record'>, log: Logger) {
    this.#recorder = recorder;
    this.#log = log;
  }

  record(subject: EventSubject, events: readonly TransitionEvent[]): void {
    for (const { type, reason, action, note } of events) {
      this.#log.info({ kind: subject.kind, name: subject.key, reason }, 'target changed');
      this.#recorder.record({ regarding: regarding(subject), type, reason, action, note });
    }
  }

  finalizerReleased(subject: EventSubject): void {
    const note =
      'The finalizer was released at its time limit; something that Latchkey made in the target may be left.';
    this.record(subject, [{ type: 'Warning', reason: reasons.finalizerReleased, action: 'Finalize', note }]);
  }
}
