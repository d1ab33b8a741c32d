import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { readAdminKubeConfig } from '../../../src/platform/targets/admin-kubeconfig/admin-kube-config.ts';
import {
  type AdminDocument,
  adminDocument,
  base64,
  certificateUser,
  type DocumentParts,
} from '../../builders/admin-kube-config.ts';
import { TargetWorld } from './target-world.ts';
import { Traps } from './traps.ts';

const canary = 'CANARY7f3a';
const nothing = { ran: false, opened: false, connections: 0 };

let traps: Traps;
let world: TargetWorld;

beforeEach(async () => {
  traps = await new Traps().set();
  world = new TargetWorld({ resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
});

afterEach(async () => {
  await world.clients.close();
  await traps.remove();
});

/** Every text in it is a canary, and its server is one that counts who connects. */
function attack(parts: DocumentParts): AdminDocument {
  const server = `https://127.0.0.1:${traps.port}/${canary}`;
  return adminDocument({ server, user: { token: canary }, context: { namespace: canary }, ...parts });
}

/** Acts as a reader that trusts the document. */
async function readTrustingly(document: AdminDocument): Promise<void> {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(stringify(document));
  const options: RequestOptions = {};
  await kubeConfig.applyToHTTPSOptions(options).catch(() => undefined);
}

type Attack = readonly [name: string, parts: (traps: Traps) => DocumentParts];

const user = (fields: (traps: Traps) => Record<string, unknown>) => (given: Traps) => ({
  user: { token: canary, ...fields(given) },
});
const cluster = (fields: (traps: Traps) => Record<string, unknown>) => (given: Traps) => ({
  cluster: fields(given),
});
const execOf = ({ command }: Traps) => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  interactiveMode: 'Never',
  env: [{ name: canary, value: canary }],
  ...command,
});

const attacks: readonly Attack[] = [
  ['exec', user((given) => ({ exec: execOf(given) }))],
  ['exec beside nothing else', (given) => ({ user: { exec: execOf(given) } })],
  [
    'auth-provider that runs',
    user((given) => ({ 'auth-provider': { name: 'exec', config: { exec: execOf(given) } } })),
  ],
  [
    'auth-provider that reads',
    user(({ file }) => ({ 'auth-provider': { name: 'tokenFile', config: { tokenFile: file } } })),
  ],
  [
    'auth-provider that calls',
    user(({ port }) => ({
      'auth-provider': {
        name: 'oidc',
        config: {
          'idp-issuer-url': `https://127.0.0.1:${port}`,
          'refresh-token': canary,
          'client-id': canary,
          'client-secret': canary,
          'id-token': `${base64('{}')}.${base64('{"exp":1}')}.x`,
        },
      },
    })),
  ],
  ['tokenFile', user(({ file }) => ({ tokenFile: file }))],
  ['tokenFile beside nothing else', ({ file }) => ({ user: { tokenFile: file } })],
  ['client-certificate', user(({ file }) => ({ 'client-certificate': file }))],
  ['client-key', user(({ file }) => ({ 'client-key': file }))],
  ['client-key beside a certificate', ({ file }) => ({ user: { ...certificateUser(), 'client-key': file } })],
  ['certificate-authority', cluster(({ file }) => ({ 'certificate-authority': file }))],
  ['proxy-url', cluster(({ port }) => ({ 'proxy-url': `http://127.0.0.1:${port}` }))],
  ['insecure-skip-tls-verify', cluster(() => ({ 'insecure-skip-tls-verify': true }))],
  ['insecure-skip-tls-verify that is off', cluster(() => ({ 'insecure-skip-tls-verify': false }))],
  ['tls-server-name', cluster(() => ({ 'tls-server-name': canary }))],
  ['as', user(() => ({ as: canary }))],
  ['as-uid', user(() => ({ 'as-uid': canary }))],
  ['as-groups', user(() => ({ 'as-groups': [canary] }))],
  ['as-user-extra', user(() => ({ 'as-user-extra': { [canary]: [canary] } }))],
  ['username', user(() => ({ username: canary }))],
  ['password', user(() => ({ password: canary }))],
  ['extensions of the cluster', cluster(() => ({ extensions: [{ name: canary, extension: {} }] }))],
  ['an unknown field of the cluster', cluster(() => ({ [canary]: canary }))],
  ['an unknown field of the user', user(() => ({ [canary]: canary }))],
  ['an unknown field at the top', () => ({ root: { [canary]: canary } })],
  ['http', ({ port }) => ({ server: `http://127.0.0.1:${port}/${canary}` })],
  ['a file as the server', ({ file }) => ({ server: `file://${file}` })],
  ['user info in the server', ({ port }) => ({ server: `https://${canary}:${canary}@127.0.0.1:${port}` })],
  ['a query in the server', ({ port }) => ({ server: `https://127.0.0.1:${port}/?${canary}` })],
  ['a path in place of the authority', cluster(({ file }) => ({ 'certificate-authority-data': file }))],
  [
    'a path in place of the certificate',
    ({ file }) => ({ user: { 'client-certificate-data': file, 'client-key-data': file } }),
  ],
  [
    'a second user that runs',
    (given) => ({
      root: {
        users: [
          { name: 'admin', user: { token: canary } },
          { name: canary, user: { exec: execOf(given) } },
        ],
      },
    }),
  ],
  [
    'a second context',
    () => ({
      root: {
        contexts: [
          { name: canary, context: { cluster: 'target', user: 'admin' } },
          { name: 'admin@target', context: { cluster: 'target', user: 'admin' } },
        ],
      },
    }),
  ],
  [
    'a second cluster',
    ({ port }) => ({
      root: {
        clusters: [
          ...adminDocument().clusters,
          { name: canary, cluster: { server: `https://127.0.0.1:${port}` } },
        ],
      },
    }),
  ],
  ['megabytes', () => ({ root: { padding: canary.repeat(500_000) } })],
];

describe('a forbidden field does nothing', () => {
  it.each(attacks)('%s', async (_, parts) => {
    const document = attack(parts(traps));
    const reading = readAdminKubeConfig(Buffer.from(stringify(document)));
    expect(reading).toEqual({ refusal: expect.any(String) });
    world.put(document);
    const problem = await world.openProblem();
    expect(problem.reason).toBe('KubeConfigRefused');
    const said = JSON.stringify([reading, problem, world.logged, world.changes]);
    for (const text of [canary, base64(canary), traps.file, String(traps.port), 'OURSECRET'])
      expect(said).not.toContain(text);
    await new Promise((resolve) => setImmediate(resolve));
    expect(traps.caught).toEqual(nothing);
  });
});

describe('the traps catch a reader that trusts the document', () => {
  it.each([
    ['exec beside nothing else', { ran: true }],
    ['auth-provider that runs', { ran: true }],
    ['client-certificate', { opened: true }],
    ['client-key', { opened: true }],
    ['certificate-authority', { opened: true }],
  ])('%s', async (wanted, caught) => {
    const [, parts] = attacks.find(([name]) => name === wanted)!;
    const { user: given = { token: canary }, ...rest } = parts(traps);
    const { token: _, ...withoutToken } = given;
    await readTrustingly(attack({ ...rest, user: withoutToken }));
    expect(traps.caught).toMatchObject(caught);
  });

  it('connections', async () => {
    await fetch(`http://127.0.0.1:${traps.port}`).catch(() => undefined);
    expect(traps.caught.connections).toBe(1);
  });

  it('and an accepted document of the same make does connect', async () => {
    world.put(attack({}));
    const { client } = await world.openTarget();
    await client.request('GET', '/version').catch(() => undefined);
    expect(traps.caught.connections).toBe(1);
  });
});

describe('YAML that multiplies itself', () => {
  it('is refused before anything is built from it', () => {
    const levels = Array.from({ length: 12 }, (_, at) => `l${at}: &l${at} [${`*l${at - 1},`.repeat(9)}]`);
    const bomb = `l: &l-1 [${canary}]\n${levels.join('\n')}`;
    const before = process.memoryUsage().heapUsed;
    expect(readAdminKubeConfig(Buffer.from(bomb))).toEqual({ refusal: expect.stringContaining('anchors') });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * 2 ** 20);
  });
});

describe('an environment with proxies', () => {
  const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'] as const;

  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('does not change where a target is dialled', async () => {
    for (const name of names) vi.stubEnv(name, `http://127.0.0.1:${traps.port}`);
    world.put(attack({ server: 'https://127.0.0.1:1' }));
    const { client } = await world.openTarget();
    await client.request('GET', '/version').catch(() => undefined);
    expect(traps.caught).toEqual(nothing);
  });
});
