import { defined } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { Clock } from '../../kube/clock.ts';
import type { EventInput, RegardingObject } from '../../kube/events/event-object.ts';
import type { EventRecorder } from '../../kube/events/event-recorder.ts';
import type { Logger } from '../../logger.ts';
import type { DesiredCondition } from './conditions.ts';
import { EarlyRefusals } from './early-refusals.ts';

/** The content of an event, beside its object. */
export interface TransitionEvent extends Omit<EventInput, 'regarding'> {
  readonly reason: Reason;
}

/** An object that events are about; the records of all kinds fit. */
export interface EventSubject {
  /** Default: that of our kinds. */
  readonly apiVersion?: string;
  readonly kind: string;
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Epoch milliseconds; absent of what is never new. */
  readonly created?: number;
}

/** Publishes what happens to objects: as an event beside the object, and as a line in the log. */
export class ObjectEvents {
  readonly #recorder: Pick<EventRecorder, 'record'>;
  readonly #log: Logger;
  readonly #early: EarlyRefusals;

  constructor(recorder: Pick<EventRecorder, 'record'>, log: Logger, clock: Clock) {
    this.#recorder = recorder;
    this.#log = log;
    this.#early = new EarlyRefusals(clock);
  }

  /** Later reports are dropped. */
  close(): void {
    this.#early.close();
  }

  /** `alsoAbout`: objects that the same events are about. They come first, because a summary is about the newest one. */
  publish(
    subject: EventSubject,
    events: readonly TransitionEvent[],
    alsoAbout: readonly EventSubject[] = [],
  ): void {
    for (const event of events) {
      this.#log.info({ kind: subject.kind, name: subject.key, reason: event.reason }, 'object changed');
      const warn = () => this.#record(subject, event, alsoAbout);
      this.#record(subject, this.#early.soften(subject, event, warn), alsoAbout);
    }
  }

  #record(subject: EventSubject, event: TransitionEvent, alsoAbout: readonly EventSubject[]): void {
    for (const other of alsoAbout)
      this.#recorder.record({ regarding: regarding(other), ...event, note: noteElsewhere(subject, event) });
    this.#recorder.record({ regarding: regarding(subject), ...event });
  }
}

/** Readers of another object may not be allowed to read this one, and what it says of itself names people and their rights. */
function noteElsewhere({ kind, key }: EventSubject, { action, reason, note }: TransitionEvent): string {
  switch (action) {
    // They name the Secret and a serial at most.
    case 'Issue':
    case 'Enable':
      return note;
    case 'Confirm':
      return `The changed spec of the ${kind} ${key} was confirmed. The credential in this Secret stays the same.`;
    case 'Expire':
      return `The credential in this Secret ends soon. The ${kind} ${key} says when, and may renew it.`;
    case 'Refuse':
    case 'Wait':
      return `The credential in this Secret does not work: ${reason}. The conditions of the ${kind} ${key} say what to do.`;
    default:
      return `The credential in this Secret stays the same. The conditions of the ${kind} ${key} say what to do about it.`;
  }
}

/** The holder of a certificate has its rights until it ends, or until the revocation succeeds. */
export function certificateNotRevoked(until: string, { reason, message }: DesiredCondition): TransitionEvent {
  const cause = refusals.includes(reason) ? 'the cluster refused' : 'the cluster was not reached';
  const note = `The certificate still works until ${until}, because ${cause}: ${message}`;
  return { type: 'Warning', reason: reasons.certificateNotRevoked, action: 'Revoke', note };
}

/** Of a record that cannot be read. */
export const revocationUnreadable: TransitionEvent = {
  type: 'Warning',
  reason: reasons.revocationUnreadable,
  action: 'Revoke',
  note: 'This record of certificates to be revoked cannot be read, so nothing is done about them: look at its data, and at what the virtual cluster of that time has bound to management.platform.sh:kubeconfig:… users.',
};

/** Of an entry in the Secret of the signing keys. */
export function signingKeyUnreadable(entry: string): TransitionEvent {
  return {
    type: 'Warning',
    reason: reasons.signingKeyUnreadable,
    action: 'Keep',
    note: `The entry ${entry} holds no signing key of that name. It is kept as ${entry}.unreadable and signs nothing; tokens of that key are issued again.`,
  };
}

const refusals: readonly Reason[] = [reasons.targetForbidden, reasons.targetAnswer];

/** `left`: what may still be there, e.g. `something that Latchkey made in the target`. */
export function finalizerReleased(left: string): TransitionEvent {
  const note = `The finalizer was released at its time limit; ${left} may be left.`;
  return { type: 'Warning', reason: reasons.finalizerReleased, action: 'Finalize', note };
}

/** The reference that an event holds. */
export function regarding(subject: EventSubject): RegardingObject {
  const { kind, name, namespace, uid, resourceVersion } = subject;
  return {
    kind,
    apiVersion: subject.apiVersion ?? apiVersion,
    name,
    uid,
    resourceVersion,
    ...defined({ namespace }),
  };
}
