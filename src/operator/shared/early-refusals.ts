import { type Reason, reasons } from '../../api/reasons.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import type { EventSubject, TransitionEvent } from './events.ts';

/** Of what people apply in the same breath, in any order. */
const references: ReadonlySet<Reason> = new Set([
  reasons.accessKeyNotFound,
  reasons.clusterNotFound,
  reasons.clusterNotReady,
  reasons.instanceNotFound,
  reasons.instanceNotReady,
  reasons.kubeConfigNotFound,
]);

/** Milliseconds from the creation of an object. */
export const referenceGrace = 10_000;
/** Objects that wait for their warning. Those beyond are warned of at once. */
const maxWaiting = 10_000;

/** Something happens to the object: what it waited for has come, or something else is wrong now. */
const ending: ReadonlySet<string> = new Set(['Refuse', 'Issue', 'Confirm', 'Enable', 'Connect', 'Delete']);

/**
 * An object that was made a moment ago and refers to what is not there yet is as usual as a Pod whose image is being pulled. So the event
 * is `Normal` then, and a `Warning` follows only where nothing else has happened until the grace is over.
 */
export class EarlyRefusals {
  readonly #clock: Clock;
  /** By UID. */
  readonly #waiting = new Map<string, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The event as it is to be published now. `warn` is called when its warning is due. */
  soften(subject: EventSubject, event: TransitionEvent, warn: () => void): TransitionEvent {
    if (ending.has(event.action)) this.#forget(subject.uid);
    const graceMs = (subject.created ?? Number.NEGATIVE_INFINITY) + referenceGrace - this.#clock.now();
    const isEarly = event.type === 'Warning' && references.has(event.reason) && graceMs > 0;
    if (!isEarly || this.#waiting.size >= maxWaiting) return event;
    const onDue = () => {
      this.#waiting.delete(subject.uid);
      warn();
    };
    this.#waiting.set(subject.uid, this.#clock.setTimer(onDue, Math.min(graceMs, referenceGrace)));
    return { ...event, type: 'Normal', action: 'Wait' };
  }

  /** Nothing more is said after that. */
  close(): void {
    for (const timer of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
  }

  #forget(uid: string): void {
    this.#waiting.get(uid)?.cancel();
    this.#waiting.delete(uid);
  }
}
