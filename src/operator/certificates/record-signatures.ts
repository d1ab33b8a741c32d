import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../../api/canonical-json.ts';
import { fieldManager, labels, purposes, systemNamespace, systemObjects } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound, isAlreadyExists } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';

interface KeySecret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const secretKey = { namespace: systemNamespace, name: systemObjects.revocationKey };
const entry = 'hmac-sha256.key';
const keyBytes = 32;

/**
 * Signs what the operator remembers in ConfigMaps: it acts on them with the administrator kubeconfigs of others, so one that
 * a stranger wrote must count for nothing. The key is in a Secret that only the operator reads.
 */
export class RecordSignatures {
  readonly #client: Pick<KubeClient, 'get' | 'create'>;
  readonly #randomBytes: (count: number) => Uint8Array;
  #key: Buffer | undefined;

  constructor(client: Pick<KubeClient, 'get' | 'create'>, randomBytes: (count: number) => Uint8Array) {
    this.#client = client;
    this.#randomBytes = randomBytes;
  }

  /** Reads the key, or makes it. Of two operators that make one at once the first counts. */
  async load(): Promise<void> {
    const found = (await this.#read()) ?? (await this.#create());
    const key = Buffer.from(found?.data?.[entry] ?? '', 'base64');
    if (key.length < keyBytes)
      throw new RangeError(`the Secret ${secretKey.name} holds no key: delete it, and another is made`);
    this.#key = key;
  }

  /** Of any JSON; hexadecimal. */
  sign(content: unknown): string {
    if (this.#key === undefined) throw new RangeError('the key of the records was not loaded');
    return createHmac('sha256', this.#key).update(canonicalJson(content)).digest('hex');
  }

  isSigned(content: unknown, signature: unknown): boolean {
    if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) return false;
    return timingSafeEqual(Buffer.from(signature, 'hex'), Buffer.from(this.sign(content), 'hex'));
  }

  #read(): Promise<KeySecret | undefined> {
    return this.#client.get<KeySecret>(secrets, secretKey).catch(ignoreNotFound);
  }

  async #create(): Promise<KeySecret | undefined> {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { ...secretKey, labels: { [labels.purpose]: purposes.revocationKey } },
      data: { [entry]: Buffer.from(this.#randomBytes(keyBytes)).toString('base64') },
    };
    try {
      return await this.#client.create<KeySecret>(secrets, secret, {
        namespace: systemNamespace,
        fieldManager,
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return await this.#read();
    }
  }
}
