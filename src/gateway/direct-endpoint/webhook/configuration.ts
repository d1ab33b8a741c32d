import { credentialExtra, group } from '../../../api/names.ts';
import { clusterAudiences } from '../../../scope/audiences.ts';
import { webhookPath } from './webhook-server.ts';

export interface WebhookConfigurationOptions {
  /** The base URL of the platform. */
  readonly issuer: string;
  /** The name of the Cluster. */
  readonly cluster: string;
  /** The authority of the certificate of the platform, PEM. Absent: a public one. */
  readonly platformCA?: string;
  /** Of the webhook, as the API server reaches it. */
  readonly url: string;
  /** Where the files are, on the machine of the API server. */
  readonly folder: string;
}

/** The files with which an API server takes our tokens, and asks the webhook about each of their requests. */
export function webhookConfiguration(options: WebhookConfigurationOptions) {
  return {
    authentication: authentication(options),
    authorization: authorization(options),
    kubeconfig: kubeconfig(options),
  } as const;
}

const configType = 'apiserver.config.k8s.io/v1';
/** Beside the generated files. */
const files = {
  kubeconfig: 'webhook.kubeconfig',
  ca: 'webhook-ca.crt',
  certificate: 'client.crt',
  key: 'client.key',
};

function authentication({ issuer, cluster, platformCA }: WebhookConfigurationOptions): object {
  const { whole, scoped } = clusterAudiences(issuer, cluster);
  // As `isNarrow` reads them: a token that it takes for a wide one has no audience of its own here.
  const isWhole = `claims['${group}'].scopes.all(scope, scope.all(list, list in ['clusters', 'roles'] || scope[list] == []))`;
  return {
    apiVersion: configType,
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {
          url: issuer,
          ...(platformCA === undefined ? {} : { certificateAuthority: platformCA }),
          audiences: [...whole, scoped],
          audienceMatchPolicy: 'MatchAny',
        },
        claimMappings: {
          username: { claim: 'sub', prefix: '' },
          groups: { claim: 'groups', prefix: '' },
          extra: [{ key: credentialExtra, valueExpression: 'claims.jti' }],
        },
        claimValidationRules: [
          {
            expression: `${JSON.stringify(scoped)} in claims.aud || ${isWhole}`,
            message: 'the token is narrower than a whole cluster, and not meant for this one',
          },
        ],
        userValidationRules: [
          {
            expression: "!user.username.startsWith('system:')",
            message: 'a token cannot speak for the control plane',
          },
          {
            expression: "user.groups.all(group, !group.startsWith('system:'))",
            message: 'a token cannot have a group of the control plane',
          },
        ],
      },
    ],
  };
}

/** Without a cache a revocation counts at once. An answer is kept as one that does not allow, whatever it is. */
function authorization({ folder }: WebhookConfigurationOptions): object {
  const connectionInfo = { type: 'KubeConfigFile', kubeConfigFile: `${folder}/${files.kubeconfig}` };
  return {
    apiVersion: configType,
    kind: 'AuthorizationConfiguration',
    authorizers: [
      {
        type: 'Webhook',
        name: 'latchkey',
        webhook: {
          timeout: '3s',
          subjectAccessReviewVersion: 'v1',
          matchConditionSubjectAccessReviewVersion: 'v1',
          failurePolicy: 'Deny',
          authorizedTTL: '1s',
          unauthorizedTTL: '1s',
          cacheAuthorizedRequests: false,
          cacheUnauthorizedRequests: false,
          connectionInfo,
          matchConditions: [{ expression: `has(request.extra) && '${credentialExtra}' in request.extra` }],
        },
      },
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'rbac' },
    ],
  };
}

/** Paths in it are relative to its folder. */
function kubeconfig({ url }: WebhookConfigurationOptions): object {
  const name = 'latchkey';
  const cluster = { server: url + webhookPath, 'certificate-authority': files.ca };
  const user = { 'client-certificate': files.certificate, 'client-key': files.key };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}
