import { Registry } from 'prom-client';
import { annotations, finalizers, labels } from '../../../src/api/names.ts';
import { toCredentialRecord } from '../../../src/credentials/credential-record.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { isLive, type Liveness } from '../../../src/credentials/liveness.ts';
import type { CredentialKind, CredentialRecord } from '../../../src/credentials/record.ts';
import { LatchkeyError } from '../../../src/errors.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import { silentLogger } from '../../../src/logger.ts';
import { Controllers } from '../../../src/operator/assembly/controllers.ts';
import { toSecretMetadata } from '../../../src/operator/credentials/secret-record.ts';
import { ObjectEvents } from '../../../src/operator/shared/events.ts';
import { toProjectRecord } from '../../../src/platform/targets/project-record.ts';
import { toClusterRecord } from '../../../src/platform/targets/target-record.ts';
import { allOperatorSettings } from '../../../src/settings/operator.ts';
import { readSettings } from '../../../src/settings/read.ts';
import { OperatorMetrics } from '../../../src/telemetry/metrics/operator.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { type Fate, MemoryApi, type StoredObject } from './memory-api.ts';

const kinds: Readonly<Record<string, CredentialKind>> = {
  ownedaccesskeys: 'OwnedAccessKey',
  directclusterendpointtokens: 'DirectClusterEndpointToken',
};

/** The policies judge everything. */
const guardedHistory = {
  wasUnguarded: () => false,
  isKnown: () => true,
  known: async () => undefined,
};

const settings = readSettings(allOperatorSettings, { LATCHKEY_BASE_URL: 'https://latchkey.example.com' });

/** The real controllers on an API server in memory, with faults, late events and crashes where a test wants them. */
export class Simulation {
  readonly clock = new FakeClock(Date.UTC(2026, 10, 21, 10));
  readonly api: MemoryApi;
  #admissionMissing = false;
  readonly #fates: Fate[];
  #controllers: Controllers;
  #delivered = 0;
  /** Reason and object of each event that was published. */
  readonly published: string[] = [];
  /** Events of the watch of Secrets that are still to come; absent: it is as fast as the others. */
  #late: (() => void)[] | undefined;

  constructor(fates: readonly Fate[]) {
    this.#fates = [...fates];
    this.api = new MemoryApi(
      () => this.clock.now(),
      () => this.#fates.shift() ?? 'works',
    );
    this.#controllers = this.#start();
    this.#controllers.begin();
  }

  /** Sets the fates of the next writes. */
  suffer(fates: readonly Fate[]): void {
    this.#fates.push(...fates);
  }

  /** From now on every write works. */
  calm(): void {
    this.#fates.length = 0;
  }

  /** Takes an admission policy away, or puts it back, which the process notices at once. */
  missAdmission(missing: boolean): void {
    this.#admissionMissing = missing;
    if (!missing) this.#controllers.enqueueAll();
  }

  /** The watch of Secrets brings nothing more until it is let go on. */
  holdSecrets(): void {
    this.#late ??= [];
  }

  /** It brings all that it has held back. */
  releaseSecrets(): void {
    const late = this.#late ?? [];
    this.#late = undefined;
    for (const bring of late) bring();
  }

  /**
   * The process dies between two writes; another one begins with a fresh list, which takes so many milliseconds. Of the kind `unserved`
   * the API server says until `define` that it does not know it. `watchedUntil`: the policies are not those that the one before saw up to
   * this resourceVersion.
   */
  crash(readingMs = 0, unserved?: keyof typeof kinds, watchedUntil?: string): void {
    this.#controllers = this.#start();
    this.#late = undefined;
    this.#delivered = this.api.changes.length;
    for (const plural of [...Object.keys(kinds), 'secrets', 'namespaces', 'clusters']) {
      if (plural !== unserved) this.#list(plural);
    }
    if (unserved !== undefined) this.#setUnserved(unserved, true);
    this.clock.advance(readingMs);
    if (watchedUntil !== undefined) this.#controllers.distrustSince(watchedUntil);
    this.#controllers.begin();
  }

  /** Whether the next process may go on from what this one has seen. */
  isSettled(): boolean {
    return !this.#controllers.hasUnnoted();
  }

  /** Of the last change of any object. */
  resourceVersion(): string {
    return this.api.changes.at(-1)?.object.metadata.resourceVersion ?? '0';
  }

  /** The definition of the kind is there (again). */
  define(plural: keyof typeof kinds): void {
    this.#list(plural);
    this.#setUnserved(plural, false);
    this.#controllers.enqueueKnown();
  }

  /** Brings at most so many events of the watches. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (let left = count; left > 0 && this.#delivered < this.api.changes.length; left--) {
      const { plural, type, object } = this.api.changes[
        this.#delivered++
      ] as (typeof this.api.changes)[number];
      const bring = () => (type === 'put' ? this.#upsert(plural, object) : this.#remove(plural, object));
      if (plural === 'secrets' && this.#late !== undefined) this.#late.push(bring);
      else bring();
    }
  }

  /** Works on what is queued; at most so many keys of each controller. */
  async work(count = Number.POSITIVE_INFINITY): Promise<void> {
    for (const { queue, reconcile } of this.#controllers.all) {
      for (let left = count; left > 0 && queue.length > 0; left--) {
        const key = (await queue.get()) as string;
        try {
          const result = await reconcile(key);
          queue.forget(key);
          if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
        } catch {
          queue.addRateLimited(key);
        } finally {
          queue.done(key);
        }
      }
    }
  }

  /** Until nothing is queued and no event waits. Fails where that does not come. */
  async runUntilIdle(): Promise<void> {
    this.calm();
    this.releaseSecrets();
    for (let round = 0; round < 200; round++) {
      this.deliver();
      await this.work();
      const idle = this.#controllers.all.every(({ queue }) => queue.length === 0);
      if (idle && this.#delivered === this.api.changes.length) {
        if (!this.#backingOff()) return;
        this.clock.advance(100);
      }
    }
    throw new Error('the controllers do not come to rest');
  }

  /** Creates what a person applies, with the requester record and the finalizer of the admission policies. */
  create(plural: string, name: string, spec: Record<string, unknown>): void {
    const kind = kinds[plural] as CredentialKind;
    if (this.api.find(plural, name) !== undefined) return;
    this.api.create(plural, {
      metadata: {
        name,
        finalizers: [finalizers[kind]],
        annotations: { [annotations.requester]: 'alice', [annotations.requesterGroups]: '[]' },
      },
      spec,
      status: {
        observedGeneration: -1,
        conditions: [
          {
            type: 'Ready',
            status: 'Unknown',
            reason: 'Pending',
            message: '',
            lastTransitionTime: '1970-01-01T00:00:00Z',
          },
        ],
      },
    } as unknown as StoredObject);
  }

  createProject(project: string): void {
    const metadata = { name: `p-${project}`, labels: { [labels.project]: project } };
    this.api.create('namespaces', { metadata } as unknown as StoredObject);
  }

  createCluster(name: string, host: string): void {
    const spec = { directEndpoint: { host } };
    this.api.create('clusters', { metadata: { name }, spec } as unknown as StoredObject);
  }

  edit(plural: string, name: string, patch: Record<string, unknown>): void {
    if (this.api.find(plural, name) !== undefined)
      this.api.patch(plural, name, patch, { fieldManager: 'kubectl' });
  }

  delete(plural: string, key: string): void {
    if (this.api.find(plural, key) !== undefined) this.api.delete(plural, key);
  }

  records(): CredentialRecord[] {
    return Object.entries(kinds).flatMap(([plural, kind]) =>
      this.api.all(plural).map((object) => toCredentialRecord(object, kind)),
    );
  }

  liveness(record: CredentialRecord): Liveness {
    const lookup = (name: string) => {
      const object = this.api.find('ownedaccesskeys', name);
      return object === undefined ? undefined : toCredentialRecord(object, 'OwnedAccessKey');
    };
    return isLive(record, lookup, this.clock.now(), { activityInterval: settings.activityIntervalMs });
  }

  /** SHA-256 of the credential where its holder reads it; undefined: nowhere. */
  heldHash(record: CredentialRecord): string | undefined {
    const plural = record.kind === 'OwnedAccessKey' ? 'ownedaccesskeys' : 'directclusterendpointtokens';
    const object = this.api.find(plural, record.key);
    const { secretRef } = record;
    if (secretRef !== undefined) {
      const secret = this.api.find('secrets', `${secretRef.namespace}/${secretRef.name}`);
      const content = Object.values(secret?.data ?? {})[0];
      return content === undefined ? undefined : credentialHash(Buffer.from(content, 'base64').toString());
    }
    if (record.kind === 'OwnedAccessKey') return record.specKey?.hash;
    const token = object?.status?.token;
    return typeof token === 'string' ? credentialHash(token) : undefined;
  }

  #start(): Controllers {
    return new Controllers({
      client: this.api.client,
      clock: this.clock,
      random: () => 0.5,
      log: silentLogger,
      events: new ObjectEvents(
        { record: ({ reason, regarding }) => void this.published.push(`${reason} ${regarding.name}`) },
        silentLogger,
        this.clock,
      ),
      settings,
      metrics: new OperatorMetrics(new Registry()),
      assertAdmission: () => {
        if (this.#admissionMissing) throw new LatchkeyError('ERR_ADMISSION_MISSING', { missing: 1 });
      },
      trustedSince: () => 0,
      history: guardedHistory,
      assertLeading: () => undefined,
    });
  }

  /** Failed keys come again within a second; everything else that waits is a matter of hours or of the refusals' recheck. */
  #backingOff(): boolean {
    return this.#controllers.all.some(({ queue }) =>
      [...this.records().map(({ key }) => key), 'signing-keys', 'gateway-certificate'].some(
        (key) => queue.failures(key) > 0,
      ),
    );
  }

  #list(plural: string): void {
    for (const object of this.api.all(plural)) this.#upsert(plural, object);
  }

  #setUnserved(plural: string, isUnserved: boolean): void {
    this.#controllers.stores.ofKind[kinds[plural] as CredentialKind].store.setUnserved(isUnserved);
  }

  #upsert(plural: string, object: KubeObject): void {
    const kind = kinds[plural];
    if (kind !== undefined) {
      const { store } = this.#controllers.stores.ofKind[kind];
      return store.upsert(toCredentialRecord(object, kind));
    }
    const secret = plural === 'secrets' ? toSecretMetadata(object) : undefined;
    if (secret !== undefined) this.#controllers.stores.secrets.upsert(secret);
    else if (plural === 'secrets') this.#remove(plural, object);
    if (plural === 'namespaces') this.#controllers.targets.projects.upsert(toProjectRecord(object));
    if (plural === 'clusters') this.#controllers.targets.clusters.upsert(toClusterRecord(object));
    if (keyOf(object.metadata) !== 'latchkey-system/latchkey-signing-keys') return;
    const { uid, resourceVersion } = object.metadata;
    this.#controllers.system.signingKeys.upsert({ key: keyOf(object.metadata), uid, resourceVersion });
  }

  #remove(plural: string, { metadata }: KubeObject): void {
    const { stores, system, targets } = this.#controllers;
    const [key, { uid, resourceVersion }] = [keyOf(metadata), metadata];
    const kind = kinds[plural];
    if (kind !== undefined) stores.ofKind[kind].store.remove(key, uid);
    if (plural === 'secrets') stores.secrets.remove(key, uid, resourceVersion);
    if (plural === 'namespaces') targets.projects.remove(key, uid);
    if (plural === 'clusters') targets.clusters.remove(key, uid);
    system.signingKeys.remove(key, uid);
  }
}
