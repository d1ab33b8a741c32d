import { expect, it } from 'vitest';
import { webhookConfiguration } from './configuration.ts';

const options = {
  issuer: 'https://latchkey.example.com',
  cluster: 'edge',
  url: 'https://10.0.0.7:8445',
  folder: '/etc/kubernetes/latchkey',
};

it('takes narrow tokens by their own audience alone, and gives each user its token', () => {
  const { authentication } = webhookConfiguration({ ...options, platformCA: 'PEM' });
  expect(authentication).toMatchObject({
    jwt: [
      {
        issuer: {
          certificateAuthority: 'PEM',
          audiences: [
            'https://latchkey.example.com/cluster/edge',
            'https://latchkey.example.com/clusters',
            'https://latchkey.example.com/cluster/edge/scoped',
          ],
        },
        claimMappings: {
          extra: [{ key: 'management.platform.sh/credential', valueExpression: 'claims.jti' }],
        },
        claimValidationRules: [
          {
            expression: expect.stringContaining(
              '"https://latchkey.example.com/cluster/edge/scoped" in claims.aud || ',
            ),
          },
        ],
      },
    ],
  });
  expect(JSON.stringify(webhookConfiguration(options).authentication)).not.toContain('certificateAuthority');
});

it('reads narrow as the operator does, which leaves crit out of a token with an empty list', () => {
  const { authentication } = webhookConfiguration(options);
  expect(JSON.stringify(authentication)).toContain(
    "scope.all(list, list in ['clusters', 'roles'] || scope[list] == [])",
  );
});

it('refuses where the webhook fails, asks about tokens alone, and asks before RBAC may allow', () => {
  const { authorization } = webhookConfiguration(options);
  expect(authorization).toMatchObject({
    authorizers: [
      {
        type: 'Webhook',
        webhook: {
          failurePolicy: 'Deny',
          cacheAuthorizedRequests: false,
          cacheUnauthorizedRequests: false,
          connectionInfo: { kubeConfigFile: '/etc/kubernetes/latchkey/webhook.kubeconfig' },
          matchConditions: [
            { expression: "has(request.extra) && 'management.platform.sh/credential' in request.extra" },
          ],
        },
      },
      { type: 'Node' },
      { type: 'RBAC' },
    ],
  });
});

it('names the certificates beside the kubeconfig, and holds no secret', () => {
  const { kubeconfig } = webhookConfiguration(options);
  expect(kubeconfig).toMatchObject({
    clusters: [
      { cluster: { server: 'https://10.0.0.7:8445/authorize', 'certificate-authority': 'webhook-ca.crt' } },
    ],
    users: [{ user: { 'client-certificate': 'client.crt', 'client-key': 'client.key' } }],
  });
});
