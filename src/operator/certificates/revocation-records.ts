import { fieldManager, systemNamespace } from '../../api/names.ts';
import { configMaps } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isNotFound } from '../../kube/kube-error.ts';
import {
  type Revocation,
  type RevocationPlace,
  type RevocationRecord,
  renderRevocation,
  revocationName,
} from './revocation-record.ts';

/** Keeps the records of what is to be withdrawn, as ConfigMaps in the system namespace. */
export class RevocationRecords {
  readonly #client: Pick<KubeClient, 'apply' | 'delete'>;

  constructor(client: Pick<KubeClient, 'apply' | 'delete'>) {
    this.#client = client;
  }

  /** Creates or replaces the record of that object in that virtual cluster. */
  async write(revocation: Revocation): Promise<void> {
    const options = { fieldManager, force: true };
    await this.#client.apply(configMaps, keyOf(revocation), renderRevocation(revocation), options);
  }

  /** When nothing is left of an object in that virtual cluster. */
  async remove(place: RevocationPlace): Promise<void> {
    await this.#client.delete(configMaps, keyOf(place)).catch(unlessGone);
  }

  /** Fails with a conflict when the record has changed: another certificate stands in it. */
  async complete({ name, uid, resourceVersion }: RevocationRecord): Promise<void> {
    const key = { namespace: systemNamespace, name };
    await this.#client.delete(configMaps, key, { preconditions: { uid, resourceVersion } }).catch(unlessGone);
  }
}

const keyOf = (place: RevocationPlace) => ({ namespace: systemNamespace, name: revocationName(place) });

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
