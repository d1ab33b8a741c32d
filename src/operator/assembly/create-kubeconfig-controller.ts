import { virtualClusterInstanceKubeConfigs } from '../../api/resources.ts';
import type { RevocationRecords } from '../certificates/revocation-records.ts';
import type { Withdrawals } from '../certificates/withdrawals.ts';
import { KubeConfigController } from '../credentials/kubeconfigs/controller.ts';
import { KubeConfigFinalizer } from '../credentials/kubeconfigs/finalizer.ts';
import type { Controller } from '../shared/controller.ts';
import { finalizerLimitOf, issuedLimits, type Wiring } from './operator-context.ts';

/** What the controllers of kubeconfigs and of revocations share. */
interface Shared {
  readonly withdrawals: Withdrawals;
  readonly revocations: RevocationRecords;
}

export function wireKubeConfigs(wiring: Wiring, { withdrawals, revocations }: Shared): Controller {
  const { client, clock, events, metrics, parts, settings, stores, targets, targetClients } = wiring;
  const kind = 'VirtualClusterInstanceKubeConfig';
  const writer = parts.writer(virtualClusterInstanceKubeConfigs, stores.writtenKubeConfigs);
  const { secrets } = parts;
  const finalizer = new KubeConfigFinalizer({
    ...{ stores, targets, clients: targetClients, withdrawals, revocations, writer, secrets, events },
    onReleased: () => metrics.finalizersReleased.inc({ kind }),
    now: () => clock.now(),
    limitMs: finalizerLimitOf(wiring, kind),
  });
  const controller = new KubeConfigController({
    ...{
      client,
      stores,
      targets,
      clients: targetClients,
      withdrawals,
      revocations,
      writer,
      secrets,
      finalizer,
      clock,
    },
    ring: wiring.ring,
    expiryBudget: wiring.expiryBudget,
    gateway: gatewayOf(wiring),
    limits: issuedLimits(settings, settings.maxKubeConfigTTLSeconds),
    random: wiring.random,
    trustedSince: wiring.trustedSince,
    assertMayIssue: () => {
      wiring.assertLeading();
      wiring.assertAdmission();
    },
  });
  return {
    name: 'virtualclusterinstancekubeconfigs',
    resource: virtualClusterInstanceKubeConfigs,
    queue: wiring.queues.virtualclusterinstancekubeconfigs,
    workers: settings.concurrency,
    reconcile: (key) => controller.reconcile(key),
  };
}

function gatewayOf({ settings, baseURLAuthority: ca }: Wiring) {
  const { baseURL: issuer, projectNamespacePrefix } = settings;
  return { issuer, projectNamespacePrefix, ...(ca === undefined ? {} : { ca }) };
}
