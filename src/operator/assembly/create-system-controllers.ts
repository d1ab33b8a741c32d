import { isReady } from '../../api/conditions.ts';
import { systemNamespace } from '../../api/names.ts';
import { configMaps, credentialLocks, secrets } from '../../api/resources.ts';
import { toLockRecord } from '../../credentials/locks/lock-record.ts';
import { defaultSigningKeyPolicy, type SigningKeyPolicy } from '../../credentials/tokens/signing-key-plan.ts';
import { keyOf } from '../../kube/object.ts';
import type { OperatorSettings } from '../../settings/operator.ts';
import { RevocationController } from '../certificates/revocation-controller.ts';
import { GatewayCertificateController } from '../gateway-certificate/controller.ts';
import { LockController } from '../locks/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { SigningKeyController } from '../signing-keys/controller.ts';
import type { OperatorContext } from './operator-context.ts';
import { concurrency } from './queues.ts';

/** The one key of its queue. */
export const signingKeysKey = 'signing-keys';

export function createSigningKeyController({
  client,
  settings,
  metrics,
  clock,
  log,
  events,
  ring,
  queues,
}: OperatorContext): Controller {
  const controller = new SigningKeyController({
    client,
    ring,
    issuer: settings.baseURL,
    policy: signingKeyPolicy(settings),
    now: () => clock.now(),
    log,
    events,
    onActive: (active) => {
      metrics.signingKeyCreated.set(active.createdAt / 1000);
      metrics.signingKeyRotation.set((active.activeFrom + settings.signingKeyRotationMs) / 1000);
    },
  });
  return {
    name: 'signing-keys',
    resource: secrets,
    namespace: systemNamespace,
    queue: queues['signing-keys'],
    workers: 1,
    reconcile: () => controller.reconcile(),
  };
}

/** A key is published well before it signs, also where keys are replaced often, and until nothing it signed can be valid. */
function signingKeyPolicy(settings: OperatorSettings): SigningKeyPolicy {
  const { signingKeyRotationMs: rotation, maxTokenTTLSeconds, maxKubeConfigTTLSeconds } = settings;
  const publishAhead = Math.min(defaultSigningKeyPolicy.publishAhead, rotation / 2);
  const maxTokenLife = Math.max(maxTokenTTLSeconds, maxKubeConfigTTLSeconds);
  return { ...defaultSigningKeyPolicy, rotation, publishAhead, maxTokenLife };
}

export function createLockController(context: OperatorContext): Controller {
  const { client, clock, events, locks, lockSweep: sweep, queues } = context;
  const controller = new LockController({
    ...{ client, clock, events, locks, sweep },
    ...{ resource: credentialLocks, toRecord: toLockRecord },
  });
  return {
    name: 'credentiallocks',
    resource: credentialLocks,
    queue: queues.credentiallocks,
    workers: concurrency,
    reconcile: (name) => controller.reconcile(name),
  };
}

/** The one key of its queue. */
export const gatewayCertificateKey = 'gateway-certificate';

export function createGatewayCertificateController({
  client,
  settings,
  metrics,
  clock,
  log,
  gatewayAuthority,
  queues,
}: OperatorContext): Controller {
  const controller = new GatewayCertificateController({
    client,
    published: gatewayAuthority,
    baseURL: settings.baseURL,
    now: () => clock.now(),
    log,
    onEnd: (end = 0) => metrics.gatewayCertificateEnd.set(end / 1000),
  });
  return {
    name: 'gateway-certificate',
    resource: secrets,
    namespace: systemNamespace,
    queue: queues['gateway-certificate'],
    workers: 1,
    reconcile: () => controller.reconcile(),
  };
}

/** A try to reach a virtual cluster that is gone holds its worker for many seconds; four of one tenant do so at most. */
const workers = 16;

export function createRevocationController(context: OperatorContext): Controller {
  const { targetClients: clients, targets, clock, random, log, queues, stores, events, metrics } = context;
  const { recorded: store, records, revoker } = context.certificates;
  const controller = new RevocationController({
    ...{ store, records, revoker },
    findOwner: (uid) => {
      const [found] = stores.byUID(uid);
      const owner = found && stores.kubeConfig(found.key);
      return owner?.uid === uid ? owner : undefined;
    },
    pending: metrics.revocationsPending,
    ...{ clients, clock, random, log, events },
  });
  stores.kubeConfigs.subscribe(({ previous, current }) => {
    const uid = (current ?? previous)?.uid ?? '';
    for (const { key } of store.byIndex('owner', uid)) queues.revocations.add(key);
  });
  onReturn(context, (secret) => {
    for (const record of store.byIndex('secret', secret)) {
      controller.endPause(record);
      queues.revocations.add(record.key);
    }
  });
  store.subscribe(({ previous, current }) => {
    // A target that is there is forgotten when it goes.
    const uid = current === undefined ? previous?.instance.uid : undefined;
    if (uid !== undefined && targets.instances.byIndex('uid', uid).length === 0) clients.forget(uid);
  });
  return {
    name: 'revocations',
    resource: configMaps,
    namespace: systemNamespace,
    queue: queues.revocations,
    workers,
    // Nothing that was revoked comes back, and no one knows now whose certificates are to go.
    reconcile: async (key) => (stores.kubeConfigs.isUnserved ? undefined : await controller.reconcile(key)),
  };
}

/**
 * Calls back with the Secret of each instance that is usable again, or whose Secret holds something else. The Secret is what
 * leads into a virtual cluster: an instance that was made again leads into the same one.
 */
function onReturn(
  { targets, targetClients }: Pick<OperatorContext, 'targets' | 'targetClients'>,
  enqueue: (secret: string) => void,
): void {
  targets.instances.subscribe(({ previous, current }) => {
    if (current !== undefined && isReady(current) && (previous === undefined || !isReady(previous)))
      enqueue(keyOf(current.kubeConfig));
  });
  targetClients.subscribe((uid) => {
    for (const { kubeConfig } of targets.instances.byIndex('uid', uid)) enqueue(keyOf(kubeConfig));
  });
}
