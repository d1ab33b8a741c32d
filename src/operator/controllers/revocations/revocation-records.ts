import { fieldManager, systemNamespace } from '../../../api/names.ts';
import { configMaps } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { isNotFound } from '../../../kube/kube-error.ts';
import {
  type Revocation,
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

  /** Creates or replaces the record of that object. */
  async write(revocation: Revocation): Promise<void> {
    await this.#client.apply(configMaps, keyFor(revocation.ownerUID), renderRevocation(revocation), {
      fieldManager,
      force: true,
    });
  }

  /** Of an object of which nothing is left. */
  async remove(ownerUID: string): Promise<void> {
    await this.#client.delete(configMaps, keyFor(ownerUID)).catch(unlessGone);
  }

  async delete({ ownerUID, uid }: RevocationRecord): Promise<void> {
    await this.#client.delete(configMaps, keyFor(ownerUID), { preconditions: { uid } }).catch(unlessGone);
  }
}

const keyFor = (ownerUID: string) => ({ namespace: systemNamespace, name: revocationName(ownerUID) });

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
