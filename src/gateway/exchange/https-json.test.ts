import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { createAuthority, createServer as createServing } from '../../../lab/controlplane/certificates.ts';
import { systemClock } from '../../kube/clock.ts';
import { readJSONOverHTTPS } from './https-json.ts';

const authority = createAuthority('issuer-ca');
const { certificate: cert, key } = createServing(authority, ['localhost']);
const asked: string[] = [];
const server = createServer({ cert, key }, (request, response) => {
  asked.push(request.url ?? '');
  switch (request.url) {
    case '/good':
      return response.end('{"keys":[]}');
    case '/moved':
      return response.writeHead(302, { location: '/good' }).end();
    case '/large':
      return response.end(JSON.stringify({ keys: 'x'.repeat(10 * 2 ** 20) }));
    case '/broken':
      return response.end('{');
    case '/cut':
      response.writeHead(200, { 'content-length': '100' }).write('{');
      return response.socket?.destroy();
    case '/slow':
      return void response.writeHead(200).write('{');
    default:
      return response.writeHead(404).end('{}');
  }
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
const base = `https://localhost:${(server.address() as AddressInfo).port}`;
/** Time limits come at once where the test asks for it. */
const reader = (soon = false) =>
  readJSONOverHTTPS({ setTimer: (callback, ms) => systemClock.setTimer(callback, soon ? 300 : ms) });

it('a document is read', async () => {
  expect(await reader()(`${base}/good`, { certificateAuthority: authority.certificate })).toEqual({
    keys: [],
  });
});

it.each([
  ['of ten megabytes', '/large', /more than 262144 bytes/],
  ['that is no JSON', '/broken', /JSON/],
  ['that ends early', '/cut', /./],
  ['that is not there', '/none', /the answer is 404/],
])('a document %s is not', async (_, path, message) => {
  await expect(reader()(base + path, { certificateAuthority: authority.certificate })).rejects.toThrow(
    message,
  );
});

it('a redirect is not followed', async () => {
  asked.length = 0;
  await expect(reader()(`${base}/moved`, { certificateAuthority: authority.certificate })).rejects.toThrow(
    'the answer is 302',
  );
  expect(asked).toEqual(['/moved']);
});

it('a document that does not come to an end is not waited for', async () => {
  await expect(reader(true)(`${base}/slow`, { certificateAuthority: authority.certificate })).rejects.toThrow(
    'took too long',
  );
});

it('a server with a certificate of somebody else is not believed', async () => {
  const { certificate: other } = createAuthority('another');
  for (const ca of [other, undefined])
    await expect(reader()(`${base}/good`, { certificateAuthority: ca })).rejects.toThrow();
});

it('a name that an issuer chose elsewhere is not asked where it stands for this machine', async () => {
  asked.length = 0;
  const from = { certificateAuthority: authority.certificate, isElsewhere: true };
  await expect(reader()(`${base}/good`, from)).rejects.toThrow('it is a loopback address');
  expect(asked).toEqual([]);
});
