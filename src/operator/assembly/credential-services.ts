import type { Resource } from '../../api/resources.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { CredentialEvents } from '../credentials/credential-events.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { CredentialWriter } from '../credentials/credential-writer.ts';
import { Finalizer } from '../credentials/finalizer.ts';
import { SecretWriter } from '../credentials/secret-writer.ts';

export interface CredentialServicesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly stores: CredentialStores;
  readonly events: CredentialEvents;
  readonly onReleased: (kind: string) => void;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
}

/** What the controllers of all credential kinds share. */
export class CredentialServices {
  readonly secrets: SecretWriter;
  readonly #options: CredentialServicesOptions;
  readonly #writers = new Map<string, CredentialWriter>();

  constructor(options: CredentialServicesOptions) {
    this.#options = options;
    this.secrets = new SecretWriter(options.client, options.stores.writtenSecrets);
  }

  writer(resource: Resource, records: MutationCache<CredentialRecord>): CredentialWriter {
    const { client, events, clock, assertAdmission } = this.#options;
    const writer = new CredentialWriter({ client, resource, records, events, clock, assertAdmission });
    this.#writers.set(resource.kind, writer);
    return writer;
  }

  /** `limitMs`: how long a deleted object of this kind may wait for its clean-up. */
  finalizer(kind: string, writer: CredentialWriter, limitMs: number): Finalizer {
    const { stores, events, clock, onReleased } = this.#options;
    return new Finalizer({
      stores,
      writer,
      secrets: this.secrets,
      events,
      limitMs,
      now: () => clock.now(),
      onReleased: () => onReleased(kind),
      deleteChild: async (child) => this.#writers.get(child.kind)?.delete(child),
    });
  }
}
