import { describe, expect, it } from 'vitest';
import { run } from './gateway.ts';

const runWith = (environment: Record<string, string>) =>
  run({
    environment: {
      LATCHKEY_BASE_URL: 'https://latchkey.example.com',
      KUBECONFIG: '/nowhere/kubeconfig',
      ...environment,
    },
    signal: AbortSignal.abort(),
    print: () => undefined,
  });

describe('the gateway does not start', () => {
  it.each([':8443', '0.0.0.0:8080', '192.0.2.1:8080', 'latchkey:8080'])(
    'with plain HTTP on %s',
    async (address) => {
      const environment = { LATCHKEY_TLS_FOLDER: 'none', LATCHKEY_LISTEN_ADDRESS: address };
      await expect(runWith(environment)).rejects.toMatchObject({
        code: 'ERR_SETTINGS_INVALID',
        message: expect.stringContaining(
          'LATCHKEY_TLS_FOLDER=none needs a LATCHKEY_LISTEN_ADDRESS on loopback',
        ),
      });
    },
  );

  it('with a header of the PROXY protocol from no one', async () => {
    await expect(runWith({ LATCHKEY_PROXY_PROTOCOL: 'required' })).rejects.toMatchObject({
      code: 'ERR_SETTINGS_INVALID',
      message: expect.stringContaining('LATCHKEY_PROXY_PROTOCOL needs LATCHKEY_TRUSTED_PROXIES'),
    });
  });

  it.each([
    [
      { LATCHKEY_PAGE_URL: 'https://latchkey.example.com' },
      'LATCHKEY_PAGE_URL is the origin of LATCHKEY_BASE_URL',
    ],
    [{ LATCHKEY_PAGE_URL: 'https://keys.example.com/a' }, 'must not have a path'],
    [
      {
        LATCHKEY_PAGE_URL: 'https://keys.example.com',
        LATCHKEY_TLS_FOLDER: 'none',
        LATCHKEY_LISTEN_ADDRESS: '127.0.0.1:8080',
      },
      'LATCHKEY_TLS_FOLDER=none needs a LATCHKEY_PAGE_ADDRESS on loopback',
    ],
  ])('with a page that has %o', async (environment, message) => {
    await expect(runWith(environment)).rejects.toMatchObject({
      code: 'ERR_SETTINGS_INVALID',
      message: expect.stringContaining(message),
    });
  });

  it('without a certificate', async () => {
    await expect(runWith({ LATCHKEY_TLS_FOLDER: '/nowhere' })).rejects.toMatchObject({
      code: 'ERR_CERTIFICATE',
      message: 'the serving certificate in /nowhere/tls.crt cannot be used: ENOENT',
    });
  });
});
