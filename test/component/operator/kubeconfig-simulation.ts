import { X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { annotations, finalizers, labels, systemNamespace } from '../../../src/api/names.ts';
import { type Resource, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { toCredentialRecord } from '../../../src/credentials/credential-record.ts';
import type { CredentialRecord } from '../../../src/credentials/record.ts';
import { noSitePolicy } from '../../../src/credentials/site-policy.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { Timer } from '../../../src/kube/clock.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import type { WorkResult } from '../../../src/kube/queue/workers.ts';
import { silentLogger } from '../../../src/logger.ts';
import { CredentialServices } from '../../../src/operator/assembly/create-credential-controllers.ts';
import { CertificateIssuer } from '../../../src/operator/certificates/certificate-issuer.ts';
import { CertificateRevoker } from '../../../src/operator/certificates/certificate-revoker.ts';
import { RevocationController } from '../../../src/operator/certificates/revocation-controller.ts';
import {
  type RevocationRecord,
  RevocationRecords,
  revocationIndexes,
  toRevocationRecord,
} from '../../../src/operator/certificates/revocation-records.ts';
import { CredentialStores } from '../../../src/operator/credentials/credential-stores.ts';
import {
  cleanUpCertificates,
  LastTries,
} from '../../../src/operator/credentials/kubeconfigs/certificate-clean-up.ts';
import { KubeConfigController } from '../../../src/operator/credentials/kubeconfigs/controller.ts';
import { PacedWrites } from '../../../src/operator/credentials/paced-writes.ts';
import { toSecretRecord } from '../../../src/operator/credentials/secret-record.ts';
import { ObjectEvents } from '../../../src/operator/shared/events.ts';
import { KeyRing } from '../../../src/operator/signing-keys/key-ring.ts';
import { Locks } from '../../../src/platform/locks.ts';
import type {
  OpenResult,
  OpenTarget,
  TargetClients,
  TargetSource,
} from '../../../src/platform/targets/target-clients.ts';
import type { VirtualClusterInstanceRecord } from '../../../src/platform/targets/target-record.ts';
import { liveRecord } from '../../builders/credential-object.ts';
import { instanceRecord, readyStatus } from '../../builders/target-record.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { type Fate, MemoryApi, type StoredObject } from './memory-api.ts';
import { MemoryTarget } from './memory-target.ts';

const namespace = 'p-red';
const plural = virtualClusterInstanceKubeConfigs.plural;
const unsigned = { sign: () => '', isSigned: () => true };
const noEvents = new ObjectEvents({ record: () => undefined }, silentLogger, new FakeClock());

/** Timers fire at once; time passes all the same. */
export class HastyClock extends FakeClock {
  override setTimer(callback: () => void, delayMs: number): Timer {
    const handle = setImmediate(() => {
      this.advance(delayMs);
      callback();
    });
    return { cancel: () => clearImmediate(handle) };
  }
}

interface Process {
  readonly stores: CredentialStores;
  readonly revocations: Store<RevocationRecord>;
  readonly controller: KubeConfigController;
  readonly revocationController: RevocationController;
}

/** The kubeconfig in the hand of its holder. */
export interface Held {
  readonly server: string;
  readonly certificate: X509Certificate;
}

/** The real controller of kubeconfigs between two API servers in memory, with faults and crashes where a test wants them. */
export class KubeConfigSimulation {
  readonly clock = new HastyClock(Date.UTC(2026, 10, 21, 10));
  readonly platform: MemoryApi;
  readonly target: MemoryTarget;
  instance: VirtualClusterInstanceRecord | undefined = instanceRecord({
    spec: { accessPoint: { ingress: { enabled: true, host: 'shop.example.com' } } },
    status: readyStatus('True', 'Connected'),
    metadata: { namespace },
  });
  /** Verbs that everybody holds. */
  verbs: readonly string[] = ['use', 'use-as-admin'];
  opening: OpenResult | undefined;
  /** The way that leads into the target without its Secret. */
  remembered: OpenTarget | undefined;
  ca = 'the authority';
  /** The fates of the next writes to both API servers. */
  fates: Fate[] = [];
  /** The signing keys that the process knows. */
  ring = new KeyRing(() => undefined);
  /** Called whenever the process asks whether somebody may have a kubeconfig. */
  onReview: () => void = () => undefined;
  /** Each reconcile sees what the one before it wrote. Otherwise those of one round do not. */
  isWatchFast = false;
  /** The process has died: none of its writes reaches anybody. */
  isDead = false;
  #deathAt = Number.POSITIVE_INFINITY;
  /** Writes that were tried so far. */
  tried = 0;
  #process: Process;
  #delivered = 0;

  constructor() {
    const fate = () => this.#fate();
    this.platform = new MemoryApi(() => this.clock.now(), fate);
    this.target = new MemoryTarget(this.clock, fate);
    const project = { [labels.project]: namespace.slice('p-'.length) };
    this.platform.create('namespaces', { metadata: { name: namespace, labels: project } } as never);
    this.#process = this.#start();
  }

  create(spec: object = {}, metadata: object = {}): void {
    this.platform.create(plural, {
      metadata: {
        name: 'shop',
        namespace,
        finalizers: [finalizers.VirtualClusterInstanceKubeConfig],
        annotations: { [annotations.requester]: 'alice', [annotations.requesterGroups]: '[]' },
        ...metadata,
      },
      spec: { clientCert: true, ...spec },
    } as unknown as StoredObject);
  }

  /** An access key of alice, under whose name a kubeconfig may be made; no API server has it. */
  addKey(name: string): void {
    this.#process.stores.keys.upsert(liveRecord({ name }));
  }

  edit(patch: object): void {
    this.platform.patch(plural, `${namespace}/shop`, patch as never, { fieldManager: 'kubectl' });
  }

  delete(): void {
    this.platform.delete(plural, `${namespace}/shop`);
  }

  get object(): StoredObject | undefined {
    return this.platform.find(plural, `${namespace}/shop`);
  }

  get record(): CredentialRecord {
    return toCredentialRecord(this.object, 'VirtualClusterInstanceKubeConfig');
  }

  get ready(): { status: string; reason: string; message: string } | undefined {
    return this.condition('Ready');
  }

  condition(type: string): { status: string; reason: string; message: string } | undefined {
    const conditions = (this.object?.status?.['conditions'] ?? []) as never[];
    return conditions.find((condition: { type: string }) => condition.type === type);
  }

  get secret(): StoredObject | undefined {
    return this.platform.find('secrets', `${namespace}/out`);
  }

  get revocation(): StoredObject | undefined {
    return this.platform.all('configmaps')[0];
  }

  /** The document where its reader finds it. */
  get document(): string | undefined {
    const entry = this.secret?.data?.['config'];
    const inStatus = this.object?.status?.['kubeConfig'] as string | undefined;
    return entry === undefined ? inStatus : Buffer.from(entry, 'base64').toString();
  }

  get held(): Held {
    const { clusters, users } = parse(this.document ?? '');
    const pem = Buffer.from(users[0].user['client-certificate-data'], 'base64').toString();
    return { server: clusters[0].cluster.server, certificate: new X509Certificate(pem) };
  }

  /** Another process begins with fresh lists. */
  restart(): void {
    this.isDead = false;
    this.fates = [];
    this.#process = this.#start();
    this.#delivered = this.platform.changes.length;
    for (const kind of [plural, 'secrets', 'configmaps'])
      for (const object of this.platform.all(kind)) this.#upsert(kind, object);
  }

  /** Reconciles until nothing more is to be done within `patience` milliseconds. A reconcile that fails is repeated. */
  async runUntilIdle(patience = 5_000): Promise<void> {
    for (let round = 0; round < 60; round++) {
      this.#deliver();
      const before = this.platform.changes.length;
      const waitMs = await this.#reconcileAll();
      if (this.isDead) return;
      if (waitMs <= patience) this.clock.advance(waitMs);
      else if (this.platform.changes.length === before) return;
    }
    throw new Error('the controller does not come to rest');
  }

  /** One reconcile of everything, then the time until the next that was asked for passes; at most `patience` milliseconds. */
  async runOnce(patience: number): Promise<void> {
    this.#deliver();
    this.clock.advance(Math.min(await this.#reconcileAll(), patience));
    this.#deliver();
  }

  async #reconcileAll(): Promise<number> {
    const { controller, revocationController, revocations } = this.#process;
    const turns = [
      () => controller.reconcile(`${namespace}/shop`),
      ...[...revocations.keys()].map((key) => () => revocationController.reconcile(key)),
    ];
    let waitMs = Number.POSITIVE_INFINITY;
    for (const turn of turns) {
      waitMs = Math.min(waitMs, await this.#waitOf(turn));
      if (this.isWatchFast) this.#deliver();
    }
    return waitMs;
  }

  async #waitOf(turn: () => Promise<WorkResult | undefined>): Promise<number> {
    try {
      return (await turn())?.requeueAfterMs ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      // Everything that the network does is an Error of the client; a mistake of ours must not be retried away.
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      return 5;
    }
  }

  /** The process dies with its nth write from now on, from 0. */
  dieAt(nth: number, fate: Fate): void {
    this.dieAfter([...Array<Fate>(nth).fill('works'), fate]);
  }

  /** The process dies with the last of its next writes. */
  dieAfter(fates: readonly Fate[]): void {
    this.fates = [...fates];
    this.#deathAt = this.tried + fates.length;
  }

  #fate(): Fate {
    this.tried += 1;
    if (this.isDead) return 'lost';
    this.isDead = this.tried === this.#deathAt;
    return this.fates.shift() ?? 'works';
  }

  #start(): Process {
    this.ring = new KeyRing(() => undefined);
    const stores = new CredentialStores(this.clock);
    const revocations = new Store<RevocationRecord>(revocationIndexes);
    const clients = this.#clients();
    const client = this.#client();
    const revoker = new CertificateRevoker(clients, this.clock);
    const records = new RevocationRecords({ client, signatures: unsigned, events: noEvents });
    const nothing = () => undefined;
    const workingSince = this.clock.now();
    const targets = { instance: () => this.instance };
    const inside = { targets, revoker, revocations: records, tries: new LastTries() };
    const services = new CredentialServices({
      ...{ client, clock: this.clock, stores, events: noEvents, finalizerLimitMs: 60_000 },
      expiryBudget: new PacedWrites(this.clock, 1_000, nothing),
      lockBudget: new PacedWrites(this.clock, 1_000, nothing),
      random: () => 0.5,
      onReleased: nothing,
      workingSince: () => workingSince,
      onEndRecorded: nothing,
      trustedSince: () => 0,
      locks: new Locks(),
      unguarded: { has: () => false, judged: async () => undefined },
      hasTarget: () => false,
      layoutOf: nothing,
      sitePolicy: () => noSitePolicy,
      assertAdmission: nothing,
    }).of('VirtualClusterInstanceKubeConfig', (record, isLate) =>
      cleanUpCertificates(record, isLate, inside),
    );
    const issuer = new CertificateIssuer({
      ...{ revoker, revocations: records, clock: this.clock, random: () => 0.5 },
      assertMayIssue: nothing,
      recorded: (uid) => revocations.byIndex('owner', uid),
    });
    const controller = new KubeConfigController({
      ...{ ...services, clients, revoker, targets },
      ...{ client, issuer, clock: this.clock, random: () => 0.5, assertMayIssue: nothing },
      ring: this.ring,
      gateway: () => ({ issuer: 'https://latchkey.example.com', projectNamespacePrefix: 'p-' }),
      limits: {
        ...{ activityInterval: 60_000, expiredRetention: 3_600_000, rotationOverlap: 600_000 },
        maxTTL: 31_536_000,
      },
    });
    const revocationController = new RevocationController({
      ...{ store: revocations, records, revoker, clients, clock: this.clock },
      findOwner: (uid) => {
        const [found] = stores.byUID(uid);
        return found && stores.kubeConfig(found.key);
      },
      random: () => 0.5,
      log: silentLogger,
      events: { publish: () => undefined },
      pending: { inc: () => undefined, dec: () => undefined },
    });
    return { stores, revocations, controller, revocationController };
  }

  #clients(): TargetClients {
    const known = () => ({ server: new URL('https://10.0.0.1'), ca: this.ca });
    const open = async (_source: TargetSource): Promise<OpenResult> =>
      this.opening ?? { target: { client: this.target.client, config: known() } };
    const remembered = () => this.remembered;
    return { open, known, remembered, forget: () => undefined } as unknown as TargetClients;
  }

  /** Access reviews are answered beside the storage: nothing is written for them. */
  #client(): KubeClient {
    const base = this.platform.client;
    const create = (resource: Resource, object: StoredObject) => {
      const attributes = object.spec?.['resourceAttributes'] as { verb: string; resource: string };
      if (resource.plural !== 'subjectaccessreviews' || attributes.resource === 'secrets')
        return base.create(resource, object);
      this.onReview();
      return Promise.resolve({ status: { allowed: this.verbs.includes(attributes.verb) } });
    };
    return { ...base, create } as unknown as KubeClient;
  }

  #deliver(): void {
    const { changes } = this.platform;
    while (this.#delivered < changes.length) {
      const { plural: kind, type, object } = changes[this.#delivered++] as (typeof changes)[number];
      if (type === 'put') this.#upsert(kind, object);
      else this.#remove(kind, object);
    }
  }

  #upsert(kind: string, object: KubeObject): void {
    const { stores, revocations } = this.#process;
    if (kind === plural)
      stores.kubeConfigs.upsert(toCredentialRecord(object, 'VirtualClusterInstanceKubeConfig'));
    const secret = kind === 'secrets' ? toSecretRecord(object) : undefined;
    if (secret !== undefined) stores.secrets.upsert(secret);
    const revocation = kind === 'configmaps' ? toRevocationRecord(object) : undefined;
    if (revocation !== undefined) revocations.upsert(revocation);
  }

  #remove(kind: string, { metadata }: KubeObject): void {
    const { stores, revocations } = this.#process;
    if (kind === plural) stores.kubeConfigs.remove(`${namespace}/${metadata.name}`, metadata.uid);
    if (kind === 'secrets') stores.secrets.remove(`${namespace}/${metadata.name}`, metadata.uid);
    if (kind === 'configmaps') revocations.remove(`${systemNamespace}/${metadata.name}`, metadata.uid);
  }
}
