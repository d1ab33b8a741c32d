import type { Store } from '../../kube/cache/store.ts';
import { CertificateIssuer } from '../certificates/certificate-issuer.ts';
import type { CertificateRevoker } from '../certificates/certificate-revoker.ts';
import type { RevocationRecord, RevocationRecords } from '../certificates/revocation-records.ts';
import { KubeConfigController } from '../credentials/kubeconfigs/controller.ts';
import { KubeConfigFinalizer } from '../credentials/kubeconfigs/finalizer.ts';
import type { Controller } from '../shared/controller.ts';
import { credentialController, issuedLimits, mayIssue, type OperatorContext } from './operator-context.ts';

/** What the controllers of kubeconfigs and of revocations share. */
interface Shared {
  readonly revoker: CertificateRevoker;
  readonly revocations: RevocationRecords;
  readonly recorded: Store<RevocationRecord>;
}

export function createKubeConfigController(
  context: OperatorContext,
  { revoker, revocations, recorded }: Shared,
): Controller {
  const { client, clock, random, events, metrics, credentials, settings, targets } = context;
  const { ring, targetClients: clients } = context;
  const kind = 'VirtualClusterInstanceKubeConfig';
  const services = credentials.of(kind);
  const assertMayIssue = mayIssue(context);
  const controller = new KubeConfigController({
    ...services,
    ...{ client, targets, clients, revoker, ring, clock, random, assertMayIssue },
    issuer: new CertificateIssuer({
      ...{ revoker, revocations, clock, assertMayIssue },
      recordedSerials: (uid) => recorded.byIndex('owner', uid).flatMap(({ serials }) => serials),
    }),
    finalizer: new KubeConfigFinalizer({
      ...services,
      ...{ targets, clients, revoker, revocations, events },
      onReleased: () => metrics.finalizersReleased.inc({ kind }),
      limitMs: settings.finalizerLimitMs,
    }),
    gateway: gatewayOf(context),
    limits: issuedLimits(settings, settings.maxKubeConfigTTLSeconds),
  });
  return credentialController(context, kind, (key) => controller.reconcile(key));
}

function gatewayOf({ settings }: OperatorContext) {
  const { baseURL: issuer, baseURLCA: ca, projectNamespacePrefix } = settings;
  return { issuer, projectNamespacePrefix, ...(ca === undefined ? {} : { ca }) };
}
