import { byCredentialKind, type CredentialKind, credentialKinds } from '../../api/credential-kinds.ts';
import { credentialResources } from '../../api/resources.ts';
import { toCredentialRecord } from '../../credentials/credential-record.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { TargetName } from '../../scope/named-targets.ts';
import type { ReconcilerServices } from '../credentials/credential-reconciler.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { CredentialWriter } from '../credentials/credential-writer.ts';
import { EndDelays, type EndDelaysOptions } from '../credentials/end-delays.ts';
import { type CleanUp, Finalizer } from '../credentials/finalizer.ts';
import { PacedWrites } from '../credentials/paced-writes.ts';
import { PermissionReviews } from '../credentials/permission-reviews.ts';
import { secretKeyOf, secretSubject } from '../credentials/secret-record.ts';
import { SecretWriter } from '../credentials/secret-writer.ts';
import type { ObjectEvents, TransitionEvent } from '../shared/events.ts';

export interface CredentialServicesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly stores: CredentialStores;
  readonly events: ObjectEvents;
  readonly expiryBudget: PacedWrites;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Since when this process works on objects, epoch milliseconds. */
  readonly workingSince: () => number;
  /** How long a deleted object may wait for its clean-up. */
  readonly finalizerLimitMs: number;
  readonly onReleased: (kind: string) => void;
  readonly onEndRecorded: EndDelaysOptions['onRecorded'];
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  /** What was made or changed in a time without policies. */
  readonly unguarded: ReconcilerServices['unguarded'];
  readonly sitePolicy: ReconcilerServices['sitePolicy'];
  /** Whether there is something that scopes call by this name. */
  readonly hasTarget: (name: TargetName) => boolean;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
}

/** An upgrade must not stand in the way of what users do: 100,000 credentials are described within an hour and a half. */
const descriptionsPerSecond = 20;

/** What the controllers of all kinds of credentials share. */
export class CredentialServices {
  readonly #options: CredentialServicesOptions;
  readonly #secrets: SecretWriter;
  readonly #reviews: PermissionReviews;
  readonly #endDelays: EndDelays;
  readonly #descriptions: PacedWrites;
  readonly #writers: Readonly<Record<CredentialKind, CredentialWriter>>;

  constructor(options: CredentialServicesOptions) {
    this.#options = options;
    const { client, stores, clock, assertAdmission, onEndRecorded } = options;
    const now = () => clock.now();
    this.#descriptions = new PacedWrites(clock, descriptionsPerSecond);
    for (const store of stores.credentials)
      store.subscribe(({ previous, current }) => {
        if (previous !== undefined && current === undefined) this.#descriptions.forget(previous.uid);
      });
    this.#endDelays = new EndDelays({ stores: stores.credentials, now, onRecorded: onEndRecorded });
    this.#reviews = new PermissionReviews(options);
    this.#secrets = new SecretWriter(client, stores.writtenSecrets);
    this.#writers = byCredentialKind(
      (kind) =>
        new CredentialWriter({
          ...{ client, clock, assertAdmission },
          events: { publish: (record, transitions) => this.#publish(record, transitions) },
          resource: credentialResources[kind],
          records: stores.ofKind[kind].written,
          project: (object) => toCredentialRecord(object, kind),
        }),
    );
  }

  /** `cleanUp`: of what the kind leaves behind besides its Secrets. */
  of(kind: CredentialKind, cleanUp?: CleanUp): ReconcilerServices {
    const { stores, events, clock, expiryBudget, finalizerLimitMs, onReleased } = this.#options;
    const { trustedSince, unguarded, workingSince, sitePolicy, hasTarget } = this.#options;
    const shared = { stores, writer: this.#writers[kind], secrets: this.#secrets, now: () => clock.now() };
    const limitMs = Math.min(credentialKinds[kind].maxFinalizationMs ?? finalizerLimitMs, finalizerLimitMs);
    const options = { ...shared, events, workingSince, limitMs, onReleased: () => onReleased(kind) };
    const finalizer = new Finalizer(options, cleanUp);
    const budgets = { expiryBudget, descriptions: this.#descriptions };
    const common = { reviews: this.#reviews, endDelays: this.#endDelays, ...budgets };
    return { ...shared, ...common, finalizer, trustedSince, unguarded, sitePolicy, hasTarget };
  }

  /** Beside the Secret too: its reader may be someone who may not read the object. */
  #publish(record: CredentialRecord, transitions: readonly TransitionEvent[]): void {
    const { stores, events } = this.#options;
    const key = secretKeyOf(record);
    const secret = key === undefined ? undefined : stores.secret(key);
    events.publish(record, transitions, secret?.ownerUID === record.uid ? [secretSubject(secret)] : []);
  }

  /** Deletes a credential, whatever its kind. */
  delete(record: CredentialRecord): Promise<void> {
    return this.#writers[record.kind].delete(record);
  }
}
