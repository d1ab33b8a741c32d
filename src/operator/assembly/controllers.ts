import { randomBytes } from 'node:crypto';
import { type Condition, conditionTypes, findCondition } from '../../api/conditions.ts';
import {
  allCredentialKinds,
  byCredentialKind,
  type CredentialKind,
  credentialKinds,
} from '../../api/credential-kinds.ts';
import { reasons } from '../../api/reasons.ts';
import type { LockRecord } from '../../credentials/locks/lock-record.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { Store, type StoredRecord } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import { type KubeObject, newerVersion } from '../../kube/object.ts';
import { type SitePolicyRecord, sitePolicyIn } from '../../platform/site-policy.ts';
import { TargetAddresses } from '../../platform/targets/addresses.ts';
import { KnownTargets } from '../../platform/targets/known-targets.ts';
import { TargetClients } from '../../platform/targets/target-clients.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import { wasConnectedBefore } from '../../platform/targets/target-reference.ts';
import { TargetStores } from '../../platform/targets/target-stores.ts';
import type { OperatorMetrics } from '../../telemetry/metrics/operator.ts';
import { version } from '../../version.ts';
import { UnguardedChanges } from '../admission/unguarded-changes.ts';
import { CertificateRevoker } from '../certificates/certificate-revoker.ts';
import { RecordSignatures } from '../certificates/record-signatures.ts';
import {
  caFingerprint,
  type RevocationRecord,
  RevocationRecords,
  revocationIndexes,
} from '../certificates/revocation-records.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { EndsAhead } from '../credentials/ends-ahead.ts';
import { PacedWrites } from '../credentials/paced-writes.ts';
import { findLayout } from '../credentials/secret-layout.ts';
import { credentialRules } from '../credentials/unguarded-credentials.ts';
import { GatewayAuthority } from '../gateway-certificate/gateway-authority.ts';
import { LockStore } from '../locks/lock-store.ts';
import { LockSweep } from '../locks/lock-sweep.ts';
import type { Controller } from '../shared/controller.ts';
import { KeyRing } from '../signing-keys/key-ring.ts';
import type { TargetSweep } from '../targets/target-sweep.ts';
import { targetRules } from '../targets/unguarded-targets.ts';
import { type ClusterProfiles, createClusterProfiles } from './create-cluster-profiles.ts';
import {
  CredentialServices,
  createCredentialControllers,
  gatewayOf,
} from './create-credential-controllers.ts';
import {
  createGatewayCertificateController,
  createLockController,
  createRevocationController,
  createSigningKeyController,
  gatewayCertificateKey,
  signingKeysKey,
} from './create-system-controllers.ts';
import { createTargetControllers, createTargetSweep } from './create-target-controllers.ts';
import { enqueueDependents, enqueueScoped, enqueueTargetDependents } from './enqueue-dependents.ts';
import type { ControllersOptions, OperatorContext } from './operator-context.ts';
import { createQueues, queueOf } from './queues.ts';

/** The controllers of one term of leadership, with stores of their own: nothing is carried over from an earlier term. */
export class Controllers {
  readonly stores: CredentialStores;
  readonly targets: TargetStores;
  readonly locks: LockStore;
  readonly system = {
    signingKeys: new Store<StoredRecord>(),
    discovery: new Store<StoredRecord>(),
    gatewayCertificate: new Store<StoredRecord>(),
    gatewayAuthority: new Store<StoredRecord>(),
    revocations: new Store<RevocationRecord>(revocationIndexes),
    sitePolicy: new Store<SitePolicyRecord>(),
  };
  readonly all: readonly Controller[];
  /** Undefined: the site wants none. */
  readonly clusterProfiles: ClusterProfiles | undefined;
  /** To be run while this process leads, from when all reflectors have answered. */
  readonly targetSweep: TargetSweep;
  readonly #context: OperatorContext;
  readonly #signatures: RecordSignatures;
  readonly #knownTargets: KnownTargets;
  readonly #unguarded: UnguardedChanges<CredentialRecord>;
  readonly #unguardedTargets: UnguardedChanges<TargetRecord>;
  #workingSince = Number.POSITIVE_INFINITY;

  constructor(options: ControllersOptions) {
    this.#signatures = new RecordSignatures(options.client, (count) => randomBytes(count));
    this.stores = new CredentialStores(options.clock, options.settings.maxObjectsPerOwner);
    this.targets = new TargetStores(options.clock);
    this.locks = new LockStore(options.clock);
    const { history } = options;
    const { instances, clusters, spaces } = this.targets;
    this.#unguarded = new UnguardedChanges(this.stores.credentials, credentialRules, history);
    this.#unguardedTargets = new UnguardedChanges([instances, clusters, spaces], targetRules, history);
    this.#knownTargets = new KnownTargets(this.targets, options.settings.projectNamespacePrefix);
    this.#context = this.#createContext(options);
    this.#count();
    this.#enqueueOnChange();
    this.clusterProfiles = createClusterProfiles(this.#context);
    this.all = [
      createSigningKeyController(this.#context),
      createGatewayCertificateController(this.#context),
      ...createCredentialControllers(this.#context),
      createRevocationController(this.#context),
      createLockController(this.#context),
      ...createTargetControllers(this.#context),
      ...(this.clusterProfiles === undefined ? [] : [this.clusterProfiles.controller]),
    ];
    this.targetSweep = createTargetSweep(this.#context);
  }

  /** For a health check: whether tokens can be signed. */
  get hasSigningKey(): boolean {
    return this.#context.ring.signer !== undefined;
  }

  /** Makes ready what the reading of objects needs; before any reflector begins. */
  async prepare(): Promise<void> {
    await this.#signatures.load();
  }

  /**
   * To be called when all reflectors have answered: synced, or told that there is no such kind. What waits for a clean-up has its whole time from then on: reading everything
   * may take longer than that.
   */
  begin(): void {
    this.#workingSince = this.#context.clock.now();
    this.#context.lockSweep.request();
  }

  /**
   * The policies are not those that the last leader saw. What was written after this resourceVersion is not believed. To be called
   * before `begin`.
   */
  distrustSince(resourceVersion: string): void {
    this.#unguarded.distrustSince(resourceVersion);
    this.#unguardedTargets.distrustSince(resourceVersion);
  }

  /** Whether a leader has confirmed something before. */
  hasConfirmed(): boolean {
    const { instances, clusters, spaces } = this.targets;
    return (
      this.stores.credentials.some((store) =>
        some(store, ({ status }) => status.fingerprint !== undefined),
      ) || [instances, clusters, spaces].some((store) => some<TargetRecord>(store, wasUsed))
    );
  }

  /** The newest resourceVersion of all credentials and targets that have arrived. */
  get latest(): string {
    return newerVersion(this.#unguarded.latest, this.#unguardedTargets.latest);
  }

  /** Whether something was made or changed in a time without policies and its status does not say so yet. */
  hasUnnoted(): boolean {
    return this.#unguarded.hasUnnoted() || this.#unguardedTargets.hasUnnoted();
  }

  readRevocation(object: KubeObject): RevocationRecord | undefined {
    return this.#context.certificates.records.read(object);
  }

  /** Every credential is reconciled again, and each target that is not confirmed. */
  enqueueAll(): void {
    for (const kind of allCredentialKinds) this.#enqueueKind(kind);
    this.#enqueueUnconfirmed();
  }

  /** Each reconcile dials the target, and what is confirmed waits for no policy. */
  #enqueueUnconfirmed(): void {
    const { queues, targets } = this.#context;
    const { instances, clusters, spaces } = targets;
    for (const store of [instances, clusters, spaces])
      for (const record of store.values())
        if (record.confirmed === undefined) queues[targetQueues[record.kind]].add(record.key, 'listed');
  }

  /** The same, and whatever else waits for a kind that was not known. */
  enqueueKnown(): void {
    const { queues } = this.#context;
    this.enqueueAll();
    for (const key of this.targets.spaces.keys()) queues.spaceinstances.add(key, 'listed');
    for (const key of this.system.revocations.keys()) queues.revocations.add(key, 'listed');
  }

  /** Everything that waits for a time is reconciled now. */
  enqueueDelayed(): void {
    for (const queue of Object.values(this.#context.queues)) queue.addDelayed();
  }

  /** Ends the connections to targets. */
  async close(): Promise<void> {
    await this.#context.targetClients.close();
  }

  #createContext(options: ControllersOptions): OperatorContext {
    const { client, clock, random, events, metrics, settings, assertAdmission, trustedSince } = options;
    const onWaiting = (count: number) => metrics.expiryWaiting.set(count);
    const expiryBudget = new PacedWrites(clock, settings.expiryWritesPerSecond, onWaiting);
    const lockBudget = new PacedWrites(clock, lockWritesPerSecond, (count) =>
      metrics.locks.waiting.set(count),
    );
    const targetClients = targetClientsOf(options, this.system.revocations);
    const workingSince = () => this.#workingSince;
    const gatewayAuthority = new GatewayAuthority(() => this.#enqueueLeadingToGateway());
    const gateway = gatewayOf({ settings, gatewayAuthority });
    const findCluster = (name: string) => this.targets.cluster(name);
    return {
      ...options,
      workingSince,
      stores: this.stores,
      targets: this.targets,
      locks: this.locks,
      lockSweep: this.#createLockSweep(clock),
      unguardedTargets: this.#unguardedTargets,
      targetClients,
      certificates: {
        revoker: new CertificateRevoker(targetClients, clock),
        records: new RevocationRecords({ client, signatures: this.#signatures, events }),
        recorded: this.system.revocations,
      },
      expiryBudget,
      lockBudget,
      credentials: new CredentialServices({
        ...{
          client,
          clock,
          random,
          events,
          stores: this.stores,
          expiryBudget,
          lockBudget,
          trustedSince,
          workingSince,
          assertAdmission,
          audit: options.audit,
        },
        layoutOf: (record, uid) => findLayout(record, { gateway: gateway(), findCluster }, uid),
        hasTarget: this.#knownTargets.has,
        sitePolicy: () => sitePolicyIn(this.system.sitePolicy),
        locks: this.locks,
        unguarded: this.#unguarded,
        finalizerLimitMs: settings.finalizerLimitMs,
        onReleased: (kind) => metrics.finalizersReleased.inc({ kind }),
        onEndRecorded: (kind, seconds) => metrics.endDelay.observe({ kind }, seconds),
      }),
      ring: new KeyRing(() => this.#enqueueSigned()),
      gatewayAuthority,
      queues: createQueues({ ...options, workingSince }, this.stores, this.system.revocations),
    };
  }

  #createLockSweep(clock: Clock): LockSweep {
    const { locks, stores } = this;
    return new LockSweep({
      ...{ locks, stores, now: () => clock.now() },
      // Thousands may come at once. Only a certificate goes on working until its turn.
      enqueue: ({ kind, key, kubeConfig }) =>
        queueOf(this.#context.queues, kind).add(key, kubeConfig?.clientCert === true ? undefined : 'listed'),
      onCounted: () => {
        for (const key of locks.store.keys()) this.#context.queues.credentiallocks.add(key);
      },
    });
  }

  #count(): void {
    const { metrics, expiryBudget, lockBudget, clock } = this.#context;
    const ends = new EndsAhead(this.stores.credentials);
    metrics.ending.read((kind, spanMs) => ends.within(kind, clock.now(), spanMs));
    metrics.credentials.reset();
    metrics.targets.reset();
    metrics.revocationsPending.reset();
    for (const store of this.stores.credentials) {
      countByState(store, metrics.credentials);
      store.subscribe(({ previous, current }) => {
        if (previous === undefined || current !== undefined) return;
        for (const budget of [expiryBudget, lockBudget]) budget.forget(previous.uid);
      });
    }
    metrics.locks.clear();
    this.locks.store.subscribe(({ previous, current }) => {
      if (previous !== undefined) metrics.locks.stated.dec(lockLabelsOf(previous));
      if (current !== undefined) metrics.locks.stated.inc(lockLabelsOf(current));
    });
    countByState(this.targets.instances, metrics.targets);
    countByState(this.targets.spaces, metrics.targets);
    countByState(this.targets.clusters, metrics.targets);
  }

  #enqueueOnChange(): void {
    const { stores, targets, targetClients, queues } = this.#context;
    for (const kind of allCredentialKinds)
      stores.ofKind[kind].quota.onRoom((key) => queueOf(queues, kind).add(key));
    const kubeConfigs = queues.virtualclusterinstancekubeconfigs;
    const ofKind = byCredentialKind((kind) => queueOf(queues, kind));
    enqueueDependents(stores, ofKind);
    enqueueScoped(stores, this.#knownTargets, ofKind);
    enqueueTargetDependents(
      { stores, targets, clients: targetClients },
      {
        instances: queues.virtualclusterinstances,
        clusters: queues.clusters,
        spaces: queues.spaceinstances,
        kubeConfigs,
        tokens: ofKind.DirectClusterEndpointToken,
      },
    );
    this.system.revocations.subscribe(({ key }) => queues.revocations.add(key));
    this.locks.store.subscribe(({ key, origin }) => {
      if (origin === 'write') return;
      queues.credentiallocks.add(key);
      // Before that it would count a part.
      if (Number.isFinite(this.#workingSince)) this.#context.lockSweep.request();
    });
    this.#enqueueSystem();
  }

  /** At the start, and whenever one of their objects changes. */
  #enqueueSystem(): void {
    const { queues } = this.#context;
    const { signingKeys, discovery, gatewayCertificate, gatewayAuthority } = this.system;
    const enqueueSigningKeys = () => queues['signing-keys'].add(signingKeysKey);
    for (const store of [signingKeys, discovery]) store.subscribe(enqueueSigningKeys);
    enqueueSigningKeys();
    const enqueueCertificate = () => queues['gateway-certificate'].add(gatewayCertificateKey);
    for (const store of [gatewayCertificate, gatewayAuthority]) store.subscribe(enqueueCertificate);
    enqueueCertificate();
    this.system.sitePolicy.subscribe(() => {
      this.#reportSitePolicy();
      this.#enqueueUnwanted();
    });
  }

  /** Enqueues what the site policy refused: it may allow that now. */
  #enqueueUnwanted(): void {
    for (const kind of allCredentialKinds)
      for (const { key, conditions } of this.stores.ofKind[kind].store.values())
        if (conditions.some(({ reason }) => reason === reasons.sitePolicy))
          queueOf(this.#context.queues, kind).add(key);
  }

  #reportSitePolicy(): void {
    const { unreadable } = sitePolicyIn(this.system.sitePolicy);
    const { metrics, log } = this.#context;
    metrics.sitePolicyUnreadable.set(unreadable.length);
    if (unreadable.length > 0)
      log.error(
        { entries: unreadable.slice(0, 20) },
        'entries of the site policy cannot be read, and count as the strictest value',
      );
  }

  /** Enqueues every kind that carries a signature. */
  #enqueueSigned(): void {
    for (const kind of allCredentialKinds) if (credentialKinds[kind].signed) this.#enqueueKind(kind);
  }

  /** The authority of the gateway stands in kubeconfigs, in the Secrets of some keys, and in ClusterProfiles. */
  #enqueueLeadingToGateway(): void {
    this.clusterProfiles?.enqueueAll();
    this.#enqueueKind('VirtualClusterInstanceKubeConfig');
    for (const { key, secretTemplate } of this.stores.keys.values())
      if (secretTemplate?.format !== undefined) this.#context.queues.ownedaccesskeys.add(key, 'listed');
  }

  #enqueueKind(kind: CredentialKind): void {
    const queue = queueOf(this.#context.queues, kind);
    for (const key of this.stores.ofKind[kind].store.keys()) queue.add(key, 'listed');
  }
}

/**
 * A lock of a whole group is written to 10,000 credentials in a little more than three minutes, and leaves the API server to others
 * meanwhile: each counts from its first moment, whatever the status says.
 */
const lockWritesPerSecond = 50;

const some = <R>(store: Pick<Store<R & StoredRecord>, 'values'>, is: (record: R) => boolean): boolean =>
  [...store.values()].some(is);

const wasUsed = (record: TargetRecord): boolean =>
  record.confirmed !== undefined || wasConnectedBefore(record);

const targetQueues = {
  VirtualClusterInstance: 'virtualclusterinstances',
  SpaceInstance: 'spaceinstances',
  Cluster: 'clusters',
} as const;

function targetClientsOf(
  { client, clock, random, log, settings, assertLeading }: ControllersOptions,
  revocations: Store<RevocationRecord>,
): TargetClients {
  return new TargetClients({
    platform: client,
    addresses: new TargetAddresses(settings.targetAddresses),
    clock,
    random,
    log,
    userAgent: `latchkey-operator/${version}`,
    writeGuard: assertLeading,
    isOwed: (uid, config) => {
      const authority = caFingerprint(config);
      return revocations.byIndex('instance', uid).some((record) => record.caFingerprint === authority);
    },
  });
}

interface Counted extends StoredRecord {
  readonly kind: string;
  readonly conditions: readonly Condition[];
}

/** Keeps the number of objects by kind and state, as they come and go: nothing is counted at a scrape. */
function countByState<R extends Counted>(store: Store<R>, gauge: OperatorMetrics['credentials']): void {
  store.subscribe(({ previous, current }) => {
    if (previous !== undefined) gauge.dec(labelsOf(previous));
    if (current !== undefined) gauge.inc(labelsOf(current));
  });
}

function labelsOf({ kind, conditions }: Counted) {
  const ready = findCondition(conditions, conditionTypes.ready);
  return { kind, state: ready?.reason ?? reasons.pending };
}

function lockLabelsOf({ selector, conditions }: LockRecord) {
  const ready = findCondition(conditions, conditionTypes.ready);
  return { selector, state: ready?.reason ?? reasons.pending };
}
