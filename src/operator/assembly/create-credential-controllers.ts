import { randomBytes } from 'node:crypto';
import {
  allCredentialKinds,
  byCredentialKind,
  type CredentialKind,
  credentialKinds,
} from '../../api/credential-kinds.ts';
import { defined } from '../../api/json.ts';
import { credentialResources } from '../../api/resources.ts';
import { toCredentialRecord } from '../../credentials/credential-record.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { TargetName } from '../../scope/named-targets.ts';
import type { CredentialAudit } from '../audit/credential-audit.ts';
import { CertificateIssuer } from '../certificates/certificate-issuer.ts';
import { cleanUpChildren } from '../credentials/access-keys/children.ts';
import { AccessKeyController } from '../credentials/access-keys/controller.ts';
import { LoginSecrets } from '../credentials/access-keys/login-secrets.ts';
import { wasIssued } from '../credentials/creator.ts';
import type { ReconcilerServices } from '../credentials/credential-reconciler.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { CredentialWriter } from '../credentials/credential-writer.ts';
import { EndDelays, type EndDelaysOptions } from '../credentials/end-delays.ts';
import { type CleanUp, Finalizer } from '../credentials/finalizer.ts';
import type { GatewayAddress } from '../credentials/gateway-address.ts';
import { cleanUpCertificates, LastTries } from '../credentials/kubeconfigs/certificate-clean-up.ts';
import { KubeConfigController } from '../credentials/kubeconfigs/controller.ts';
import { PacedWrites } from '../credentials/paced-writes.ts';
import { PermissionReviews } from '../credentials/permission-reviews.ts';
import { endpointCluster, type FindLayout } from '../credentials/secret-layout.ts';
import { secretKeyOf, secretSubject } from '../credentials/secret-record.ts';
import { SecretWriter } from '../credentials/secret-writer.ts';
import { TokenController } from '../credentials/tokens/controller.ts';
import type { Controller } from '../shared/controller.ts';
import type { EventSubject, ObjectEvents, TransitionEvent } from '../shared/events.ts';
import { issuedLimits, mayIssue, type OperatorContext } from './operator-context.ts';
import { queueOf, shareWorkers } from './queues.ts';

/** Makes what reconciles the credentials of one kind. */
type CreateReconciler = (context: OperatorContext, kind: CredentialKind) => Pick<Controller, 'reconcile'>;

const reconcilers: Readonly<Record<CredentialKind, CreateReconciler>> = {
  OwnedAccessKey: createKeys,
  DirectClusterEndpointToken: createTokens,
  VirtualClusterInstanceKubeConfig: createKubeConfigs,
};

/** One controller for each kind of credential. */
export function createCredentialControllers(context: OperatorContext): readonly Controller[] {
  return allCredentialKinds.map((kind) => {
    const resource = credentialResources[kind];
    const reconciler = reconcilers[kind](context, kind);
    return {
      ...{ name: resource.plural, resource, queue: queueOf(context.queues, kind) },
      workers: shareWorkers(kind).workers,
      reconcile: async (key) =>
        waitsForKind(context, kind, key) ? undefined : await reconciler.reconcile(key),
    };
  });
}

function createKeys(
  { client, settings, events, stores, credentials }: OperatorContext,
  kind: CredentialKind,
) {
  const deleteChild = (child: CredentialRecord) => credentials.delete(child);
  return new AccessKeyController({
    ...credentials.of(kind, (record) => cleanUpChildren(record, { stores, deleteChild })),
    client,
    loginSecrets: new LoginSecrets(client, events),
    limits: {
      activityInterval: settings.activityIntervalMs,
      expiredRetention: settings.expiredRetentionMs,
    },
    randomBytes: (count) => randomBytes(count),
  });
}

function createTokens(context: OperatorContext, kind: CredentialKind) {
  const { client, settings, credentials, ring, targets } = context;
  return new TokenController({
    ...credentials.of(kind),
    client,
    ring,
    issuer: settings.baseURL,
    enforces: (cluster) => targets.cluster(cluster)?.enforcesScopes === true,
    findCluster: (name) => targets.cluster(name),
    limits: issuedLimits(settings, settings.maxTokenTTLSeconds),
    randomBytes: (count) => randomBytes(count),
    assertMayIssue: mayIssue(context),
  });
}

function createKubeConfigs(context: OperatorContext, kind: CredentialKind) {
  const { client, clock, random, credentials, settings, targets, ring } = context;
  const { targetClients: clients, certificates } = context;
  const { revoker, records: revocations, recorded } = certificates;
  const assertMayIssue = mayIssue(context);
  const inside = { targets, revoker, revocations, tries: new LastTries() };
  return new KubeConfigController({
    ...credentials.of(kind, (record, isLate) => cleanUpCertificates(record, isLate, inside)),
    ...{ client, targets, clients, revoker, ring, clock, random, assertMayIssue },
    issuer: new CertificateIssuer({
      ...{ revoker, revocations, clock, random, assertMayIssue },
      recorded: (uid) => recorded.byIndex('owner', uid),
    }),
    gateway: gatewayOf(context),
    limits: issuedLimits(settings, settings.maxKubeConfigTTLSeconds),
  });
}

/** Where credentials lead, as far as it is known. */
export function gatewayOf({
  settings,
  gatewayAuthority,
}: Pick<OperatorContext, 'settings' | 'gatewayAuthority'>): () => GatewayAddress {
  const { baseURL: issuer, baseURLCA, projectNamespacePrefix } = settings;
  const place = { issuer, projectNamespacePrefix };
  if (baseURLCA === 'auto') return () => ({ ...place, ...(gatewayAuthority.known ?? { isCAPending: true }) });
  const given = { ...place, ...defined({ ca: baseURLCA }) };
  return () => given;
}

export interface CredentialServicesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly stores: CredentialStores;
  readonly events: ObjectEvents;
  readonly expiryBudget: PacedWrites;
  readonly lockBudget: PacedWrites;
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
  /** Credentials made or changed in a time without policies. */
  readonly unguarded: ReconcilerServices['unguarded'];
  readonly sitePolicy: ReconcilerServices['sitePolicy'];
  readonly locks: ReconcilerServices['locks'];
  /** Whether there is something that scopes call by this name. */
  readonly hasTarget: (name: TargetName) => boolean;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
  readonly audit?: CredentialAudit | undefined;
  readonly layoutOf: FindLayout;
}

/** An upgrade must not stand in the way of what users do: 100,000 credentials are described within an hour and a half. */
const descriptionsPerSecond = 20;

/** Services that the controllers of all kinds of credentials share. */
export class CredentialServices {
  readonly #options: CredentialServicesOptions;
  readonly #secrets: SecretWriter;
  readonly #reviews: PermissionReviews;
  readonly #endDelays: EndDelays;
  readonly #descriptions: PacedWrites;
  readonly #writers: Readonly<Record<CredentialKind, CredentialWriter>>;

  constructor(options: CredentialServicesOptions) {
    this.#options = options;
    const { client, stores, clock, assertAdmission, onEndRecorded, audit } = options;
    const now = () => clock.now();
    this.#descriptions = new PacedWrites(clock, descriptionsPerSecond);
    for (const store of stores.credentials)
      store.subscribe(({ previous, current }) => {
        if (previous !== undefined && current === undefined) this.#descriptions.forget(previous.uid);
      });
    this.#endDelays = new EndDelays({ stores: stores.credentials, now, onRecorded: onEndRecorded });
    this.#reviews = new PermissionReviews(options);
    this.#secrets = new SecretWriter(client, stores.writtenSecrets, options.layoutOf);
    this.#writers = byCredentialKind(
      (kind) =>
        new CredentialWriter({
          ...{ client, clock, assertAdmission, audit },
          events: { publish: (record, transitions) => this.#publish(record, transitions) },
          onTransition: audit && ((record, events) => audit.report(record, events, this.#findKey)),
          resource: credentialResources[kind],
          records: stores.ofKind[kind].written,
          toRecord: (object) => toCredentialRecord(object, kind),
        }),
    );
  }

  /** `cleanUp`: of what the kind leaves behind besides its Secrets. */
  of(kind: CredentialKind, cleanUp?: CleanUp): ReconcilerServices {
    const { stores, events, clock, expiryBudget, lockBudget, finalizerLimitMs, onReleased } = this.#options;
    const { trustedSince, unguarded, workingSince, sitePolicy, locks, hasTarget, layoutOf } = this.#options;
    const shared = { stores, writer: this.#writers[kind], secrets: this.#secrets, now: () => clock.now() };
    const limitMs = Math.min(credentialKinds[kind].maxFinalizationMs ?? finalizerLimitMs, finalizerLimitMs);
    const options = {
      ...shared,
      events: this.#audited(events),
      workingSince,
      limitMs,
      onReleased: () => onReleased(kind),
    };
    const finalizer = new Finalizer(options, cleanUp);
    const budgets = { expiryBudget, lockBudget, descriptions: this.#descriptions };
    const common = { reviews: this.#reviews, endDelays: this.#endDelays, ...budgets };
    const known = { trustedSince, unguarded, sitePolicy, locks, hasTarget, layoutOf };
    return { ...shared, ...common, ...known, finalizer };
  }

  readonly #findKey = (name: string): CredentialRecord | undefined => this.#options.stores.keys.get(name);

  /** The last event about a credential is not one of its status. */
  #audited(events: ObjectEvents): Pick<ObjectEvents, 'publish'> {
    const { audit } = this.#options;
    if (audit === undefined) return events;
    return {
      publish: (subject, transitions) => {
        events.publish(subject, transitions);
        if (isCredential(subject)) audit.report(subject, transitions, this.#findKey);
      },
    };
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

const isCredential = (subject: EventSubject): subject is CredentialRecord => subject.kind in credentialKinds;

interface Known {
  readonly stores: CredentialStores;
  readonly targets: Pick<TargetStores, 'instances' | 'clusters'>;
}

/**
 * Whether what a credential depends on may be of a kind that the API server does not know (yet). It cannot be found then, and must not
 * count as gone: that would be said for good, and takes back what was issued.
 */
export function waitsForKind({ stores, targets }: Known, kind: CredentialKind, key: string): boolean {
  const { store } = stores.ofKind[kind];
  if (store.isUnserved) return true;
  const record = store.get(key);
  if (record === undefined || record.deleted !== undefined) return false;
  if (record.accessKey !== undefined && stores.keys.isUnserved) return true;
  if (record.kubeConfig !== undefined && targets.instances.isUnserved) return true;
  if (endpointCluster(record) !== undefined && targets.clusters.isUnserved) return true;
  return waitsForCreator(stores, record);
}

/**
 * The credential that it was made with, and the keys above that one, are asked about before the first issue; of a certificate
 * before each.
 */
function waitsForCreator(stores: CredentialStores, record: CredentialRecord): boolean {
  const { createdWith, kubeConfig } = record;
  if (createdWith === undefined) return false;
  if (wasIssued(record) && kubeConfig?.clientCert !== true) return false;
  if (stores.keys.isUnserved) return true;
  const isMissing = stores.byUID(createdWith.split('/')[1] ?? '').length === 0;
  return isMissing && stores.credentials.some(({ isUnserved }) => isUnserved);
}
