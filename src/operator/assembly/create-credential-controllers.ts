import { randomBytes } from 'node:crypto';
import type { Store } from '../../kube/cache/store.ts';
import { CertificateIssuer } from '../certificates/certificate-issuer.ts';
import type { CertificateRevoker } from '../certificates/certificate-revoker.ts';
import type { RevocationRecord, RevocationRecords } from '../certificates/revocation-records.ts';
import { AccessKeyController } from '../credentials/access-keys/controller.ts';
import { LoginSecrets } from '../credentials/access-keys/login-secrets.ts';
import { KubeConfigController } from '../credentials/kubeconfigs/controller.ts';
import { KubeConfigFinalizer } from '../credentials/kubeconfigs/finalizer.ts';
import { TokenController } from '../credentials/tokens/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { credentialController, issuedLimits, mayIssue, type OperatorContext } from './operator-context.ts';

export function createAccessKeyController(context: OperatorContext): Controller {
  const { client, settings, events, credentials } = context;
  const kind = 'OwnedAccessKey';
  const controller = new AccessKeyController({
    ...credentials.of(kind),
    loginSecrets: new LoginSecrets(client, events),
    limits: {
      activityInterval: settings.activityIntervalMs,
      expiredRetention: settings.expiredRetentionMs,
    },
    randomBytes: (count) => randomBytes(count),
  });
  return credentialController(context, kind, (key) => controller.reconcile(key));
}

export function createTokenController(context: OperatorContext): Controller {
  const { settings, credentials, ring } = context;
  const kind = 'DirectClusterEndpointToken';
  const controller = new TokenController({
    ...credentials.of(kind),
    ring,
    issuer: settings.baseURL,
    limits: issuedLimits(settings, settings.maxTokenTTLSeconds),
    assertMayIssue: mayIssue(context),
  });
  return credentialController(context, kind, (key) => controller.reconcile(key));
}

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
