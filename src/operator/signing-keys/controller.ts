import {
  annotations,
  fieldManager,
  labels,
  purposes,
  systemNamespace,
  systemObjects,
} from '../../api/names.ts';
import { configMaps, secrets } from '../../api/resources.ts';
import { createKeySet, discoveryDocument, issuerDocuments } from '../../credentials/tokens/discovery.ts';
import { generateSigningKey, type SigningKey } from '../../credentials/tokens/signing-key.ts';
import {
  planSigningKeys,
  type SigningKeyPlan,
  type SigningKeyPolicy,
} from '../../credentials/tokens/signing-key-plan.ts';
import {
  fromSecretData,
  keptEntries,
  type SecretData,
  toSecretData,
} from '../../credentials/tokens/signing-key-secret.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { Logger } from '../../logger.ts';
import { requeueAt } from '../shared/controller.ts';
import { type ObjectEvents, signingKeyUnreadable } from '../shared/events.ts';
import type { KeyRing } from './key-ring.ts';

export interface SigningKeyControllerOptions {
  readonly client: KubeClient;
  readonly ring: KeyRing;
  /** The base URL. Keys serve one issuer: under another all of them are replaced, and with them all tokens. */
  readonly issuer: string;
  readonly policy: SigningKeyPolicy;
  readonly now: () => number;
  readonly log: Logger;
  readonly events: Pick<ObjectEvents, 'publish'>;
  /** Called with the signing key after each reconcile, for metrics. */
  readonly onActive: (active: SigningKey) => void;
}

interface StoredSecret extends KubeObject {
  readonly data?: SecretData;
}

const secretKey = { namespace: systemNamespace, name: systemObjects.signingKeys };
const configMapKey = { namespace: systemNamespace, name: systemObjects.discovery };

/** Keeps the signing keys in their Secret, publishes the public halves, and gives the ring the one that signs. */
export class SigningKeyController {
  readonly #options: SigningKeyControllerOptions;

  constructor(options: SigningKeyControllerOptions) {
    this.#options = options;
  }

  async reconcile(): Promise<WorkResult | undefined> {
    const { ring, policy, now, onActive } = this.#options;
    const secret = await this.#read();
    const stored = await this.#parse(secret);
    ring.retain(new Set(stored.keys.map(({ kid }) => kid)));
    const plan = planSigningKeys(stored.keys, now(), policy);
    const isSpoilt = stored.revoked.length > 0 || stored.unusable.length > 0;
    const changed = needsWrite(plan) || isSpoilt || stored.isOfOtherIssuer;
    const keys = changed
      ? await this.#write(secret, await applyPlan(stored.keys, plan), stored.kept)
      : stored.keys;
    this.#reportUnusable(secret, stored.unusable);
    await this.#publish(keys);
    const { active = keys[0], nextChange } = planSigningKeys(keys, now(), policy);
    if (active === undefined) throw new RangeError('a plan without a signing key');
    ring.publish(keys, active);
    onActive(active);
    return requeueAt(nextChange, now());
  }

  #read(): Promise<StoredSecret | undefined> {
    return this.#options.client.get<StoredSecret>(secrets, secretKey).catch(ignoreNotFound);
  }

  async #parse(secret: StoredSecret | undefined) {
    const { policy, issuer, log } = this.#options;
    const isOfOtherIssuer =
      secret !== undefined && secret.metadata.annotations?.[annotations.issuer] !== issuer;
    const data = isOfOtherIssuer ? undefined : secret?.data;
    const stored = await fromSecretData(data, policy.maxTokenLife);
    if (stored.unusable.length > 0)
      log.warn({ entries: stored.unusable }, 'signing keys that cannot be read are kept under other names');
    if (stored.revoked.length > 0) log.warn({ keyIDs: stored.revoked }, 'signing keys were revoked');
    if (isOfOtherIssuer) log.warn({ issuer }, 'the signing keys belong to another issuer and are replaced');
    return { ...stored, kept: keptEntries(data, stored.unusable), isOfOtherIssuer };
  }

  #reportUnusable(secret: StoredSecret | undefined, entries: readonly string[]): void {
    if (secret === undefined) return;
    const { uid, resourceVersion } = secret.metadata;
    const key = `${secretKey.namespace}/${secretKey.name}`;
    const subject = { apiVersion: 'v1', kind: 'Secret', ...secretKey, key, uid, resourceVersion };
    this.#options.events.publish(subject, entries.map(signingKeyUnreadable));
  }

  /** Creating, and replacing with a resourceVersion, let one of two writers win: the other fails and reads its keys. */
  async #write(
    present: StoredSecret | undefined,
    keys: readonly SigningKey[],
    kept: SecretData,
  ): Promise<readonly SigningKey[]> {
    const { client, log } = this.#options;
    const secret = this.#render(keys, kept);
    if (present === undefined) {
      await client.create(secrets, secret, { namespace: systemNamespace, fieldManager });
    } else {
      const { uid, resourceVersion } = present.metadata;
      const metadata = { ...secret.metadata, uid, resourceVersion };
      await client.replace(secrets, secretKey, { ...secret, metadata }, { fieldManager });
    }
    log.info({ keyIDs: keys.map(({ kid }) => kid) }, 'signing keys written');
    return keys;
  }

  #render(keys: readonly SigningKey[], kept: SecretData) {
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        ...secretKey,
        labels: { [labels.purpose]: purposes.signingKeys },
        annotations: { [annotations.issuer]: this.#options.issuer },
      },
      data: { ...kept, ...toSecretData(keys) },
    };
  }

  async #publish(keys: readonly SigningKey[]): Promise<void> {
    const { client, issuer } = this.#options;
    const data = {
      [issuerDocuments.discovery.entry]: JSON.stringify(discoveryDocument(issuer)),
      [issuerDocuments.keySet.entry]: JSON.stringify(createKeySet(keys)),
    };
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: configMapKey, data };
    await client.apply(configMaps, configMapKey, configMap, { fieldManager, force: true });
  }
}

function needsWrite({ create, extend, remove }: SigningKeyPlan): boolean {
  return create !== undefined || extend.length > 0 || remove.length > 0;
}

async function applyPlan(keys: readonly SigningKey[], plan: SigningKeyPlan): Promise<readonly SigningKey[]> {
  const maxLives = new Map(plan.extend.map(({ kid, maxLife }) => [kid, maxLife]));
  const kept = keys
    .filter(({ kid }) => !plan.remove.includes(kid))
    .map((key) => ({ ...key, maxLife: maxLives.get(key.kid) ?? key.maxLife }));
  return plan.create === undefined ? kept : [...kept, await generateSigningKey(plan.create)];
}
