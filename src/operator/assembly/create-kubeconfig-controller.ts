import { virtualClusterInstanceKubeConfigs } from '../../api/resources.ts';
import { CertificateIssuer } from '../certificates/certificate-issuer.ts';
import type { CertificateRevoker } from '../certificates/certificate-revoker.ts';
import type { RevocationRecords } from '../certificates/revocation-records.ts';
import { KubeConfigController } from '../credentials/kubeconfigs/controller.ts';
import { KubeConfigFinalizer } from '../credentials/kubeconfigs/finalizer.ts';
import type { Controller } from '../shared/controller.ts';
import { finalizerLimitOf, issuedLimits, type OperatorContext } from './operator-context.ts';

/** What the controllers of kubeconfigs and of revocations share. */
interface Shared {
  readonly revoker: CertificateRevoker;
  readonly revocations: RevocationRecords;
}

export function createKubeConfigController(
  context: OperatorContext,
  { revoker, revocations }: Shared,
): Controller {
  const { client, clock, events, metrics, parts, settings, stores, targets, targetClients } = context;
  const kind = 'VirtualClusterInstanceKubeConfig';
  const writer = parts.writer(virtualClusterInstanceKubeConfigs, stores.writtenKubeConfigs);
  const { secrets } = parts;
  const finalizer = new KubeConfigFinalizer({
    ...{ stores, targets, clients: targetClients, revoker, revocations, writer, secrets, events },
    onReleased: () => metrics.finalizersReleased.inc({ kind }),
    now: () => clock.now(),
    limitMs: finalizerLimitOf(context, kind),
  });
  const assertMayIssue = () => {
    context.assertLeading();
    context.assertAdmission();
  };
  const issuer = new CertificateIssuer({ revoker, revocations, clock, assertMayIssue });
  const controller = new KubeConfigController({
    ...{
      client,
      stores,
      targets,
      clients: targetClients,
      revoker,
      issuer,
      writer,
      secrets,
      finalizer,
      clock,
    },
    ring: context.ring,
    expiryBudget: context.expiryBudget,
    gateway: gatewayOf(context),
    limits: issuedLimits(settings, settings.maxKubeConfigTTLSeconds),
    random: context.random,
    trustedSince: context.trustedSince,
    assertMayIssue,
  });
  return {
    name: 'virtualclusterinstancekubeconfigs',
    resource: virtualClusterInstanceKubeConfigs,
    queue: context.queues.virtualclusterinstancekubeconfigs,
    workers: settings.concurrency,
    reconcile: (key) => controller.reconcile(key),
  };
}

function gatewayOf({ settings }: OperatorContext) {
  const { baseURL: issuer, baseURLCA: ca, projectNamespacePrefix } = settings;
  return { issuer, projectNamespacePrefix, ...(ca === undefined ? {} : { ca }) };
}
