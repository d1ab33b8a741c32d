import { fieldManager, systemNamespace } from '../../../api/names.ts';
import { configMaps } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { isAlreadyExists, isNotFound } from '../../../kube/kube-error.ts';
import { type Revocation, type RevocationRecord, renderRevocation } from './revocation-record.ts';

/** Keeps the records of what is still to be withdrawn, as ConfigMaps in the system namespace. */
export class RevocationRecords {
  readonly #client: Pick<KubeClient, 'create' | 'delete'>;

  constructor(client: Pick<KubeClient, 'create' | 'delete'>) {
    this.#client = client;
  }

  async write(revocation: Revocation): Promise<void> {
    try {
      await this.#client.create(configMaps, renderRevocation(revocation), {
        namespace: systemNamespace,
        fieldManager,
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async delete({ name, uid }: RevocationRecord): Promise<void> {
    const key = { namespace: systemNamespace, name };
    await this.#client.delete(configMaps, key, { preconditions: { uid } }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}
