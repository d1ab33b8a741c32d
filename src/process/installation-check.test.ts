import { describe, expect, it } from 'vitest';
import { checkInstallation } from './installation-check.ts';

const self = { component: 'operator', account: 'latchkey-operator' };
const signal = new AbortController().signal;
const operator = 'system:serviceaccount:latchkey-system:latchkey-operator';

function apiServer(minor: string, username: string | undefined) {
  const answers: Record<string, unknown> = {
    '/version': { major: '1', minor, gitVersion: `v1.${minor}.3` },
    '/apis/authentication.k8s.io/v1/selfsubjectreviews': { status: { userInfo: { username } } },
  };
  return { request: async <T>(_method: string, path: string) => answers[path] as T };
}

describe('checkInstallation', () => {
  it.each(['36', '36+', '40'])('is content with Kubernetes 1.%s', async (minor) => {
    await expect(checkInstallation(apiServer(minor, operator), self, signal)).resolves.toBeUndefined();
  });

  it.each(['35', '9', ''])('refuses Kubernetes 1.%s', async (minor) => {
    await expect(checkInstallation(apiServer(minor, operator), self, signal)).rejects.toMatchObject({
      code: 'ERR_KUBERNETES_VERSION',
    });
  });

  it.each(['kubernetes-admin', 'system:serviceaccount:other:latchkey-operator', undefined])(
    'refuses to run as %s, because the policies name the account in full',
    async (username) => {
      await expect(checkInstallation(apiServer('36', username), self, signal)).rejects.toMatchObject({
        code: 'ERR_INSTALLATION',
      });
    },
  );
});
