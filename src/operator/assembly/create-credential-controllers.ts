import { randomBytes } from 'node:crypto';
import { allCredentialKinds, type CredentialKind } from '../../api/credential-kinds.ts';
import { defined } from '../../api/json.ts';
import { credentialResources } from '../../api/resources.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { CertificateIssuer } from '../certificates/certificate-issuer.ts';
import { cleanUpChildren } from '../credentials/access-keys/children.ts';
import { AccessKeyController } from '../credentials/access-keys/controller.ts';
import { LoginSecrets } from '../credentials/access-keys/login-secrets.ts';
import { cleanUpCertificates, LastTries } from '../credentials/kubeconfigs/certificate-clean-up.ts';
import { KubeConfigController } from '../credentials/kubeconfigs/controller.ts';
import type { GatewayPlace } from '../credentials/kubeconfigs/destination.ts';
import { TokenController } from '../credentials/tokens/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { issuedLimits, mayIssue, type OperatorContext, queueOf, shareWorkers } from './operator-context.ts';
import { waitsForKind } from './unserved-kinds.ts';

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
      workers: shareWorkers(context.settings, kind).workers,
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
  const { settings, credentials, ring } = context;
  return new TokenController({
    ...credentials.of(kind),
    ring,
    issuer: settings.baseURL,
    limits: issuedLimits(settings, settings.maxTokenTTLSeconds),
    assertMayIssue: mayIssue(context),
  });
}

function createKubeConfigs(context: OperatorContext, kind: CredentialKind) {
  const { client, clock, random, credentials, settings, targets, ring } = context;
  const { targetClients: clients, certificates } = context;
  const { revoker, records: revocations, recorded } = certificates;
  const assertMayIssue = mayIssue(context);
  const inside = { targets, clients, revoker, revocations, tries: new LastTries() };
  return new KubeConfigController({
    ...credentials.of(kind, (record, isLate) => cleanUpCertificates(record, isLate, inside)),
    ...{ client, targets, clients, revoker, ring, clock, random, assertMayIssue },
    issuer: new CertificateIssuer({
      ...{ revoker, revocations, clock, random, assertMayIssue },
      recordedSerials: (uid) => recorded.byIndex('owner', uid).flatMap(({ serials }) => serials),
    }),
    gateway: gatewayOf(context),
    limits: issuedLimits(settings, settings.maxKubeConfigTTLSeconds),
  });
}

function gatewayOf({ settings, gatewayAuthority }: OperatorContext): () => GatewayPlace {
  const { baseURL: issuer, baseURLCA, projectNamespacePrefix } = settings;
  const place = { issuer, projectNamespacePrefix };
  if (baseURLCA === 'auto') return () => ({ ...place, ...(gatewayAuthority.known ?? { isCAPending: true }) });
  const given = { ...place, ...defined({ ca: baseURLCA }) };
  return () => given;
}
