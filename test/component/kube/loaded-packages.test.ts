import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../../lab/controlplane/certificates.ts';

const source = (file: string) => pathToFileURL(path.resolve(import.meta.dirname, '../../../src', file)).href;

/** Reads its credentials once, as a client does before its first request, and prints the URLs of all loaded modules. */
const program = `
  import { registerHooks } from 'node:module';
  const seen = [];
  registerHooks({ load: (url, context, next) => { seen.push(url); return next(url, context); } });
  const { createKubeClient } = await import('${source('kube/client/client.ts')}');
  const { kubeConfigSource } = await import('${source('kube/client/kube-config.ts')}');
  await import('${source('commands/gateway.ts')}');
  await import('${source('platform/targets/target-clients.ts')}');
  const kubeConfig = kubeConfigSource({ serviceAccountFolder: process.argv[1] });
  const { server, headers } = await kubeConfig.load();
  await createKubeClient({ kubeConfig, userAgent: 'tester' }).close();
  console.log(JSON.stringify({ seen, server, headers }));
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'latchkey-loaded-'));
  await writeFile(path.join(folder, 'token'), 'token-1\n');
  await writeFile(path.join(folder, 'ca.crt'), createAuthority('test').certificate);
  const kubeconfig = {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: 'token-2' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(path.join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
});

afterAll(() => rm(folder, { recursive: true }));

async function run(env: Readonly<Record<string, string>>) {
  const args = ['--input-type=module', '--eval', program, folder];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 16 * 2 ** 20 });
  const { seen, server, headers } = JSON.parse(stdout) as Record<'seen' | 'headers', string[]> & {
    server: string;
  };
  const loadsClientNode = seen.some((url) => url.includes('/node_modules/@kubernetes/client-node/'));
  return { loadsClientNode, server, headers };
}

/** Each starts a process of its own, on whatever the machine has left. */
const timeout = 60_000;

describe('what the gateway and the connections to targets load', { timeout }, () => {
  it('is no client-node in a Pod, where it would take a third of the memory', async () => {
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    expect(await run(env)).toEqual({
      loadsClientNode: false,
      server: 'https://[fd00::1]:6443/',
      headers: ['authorization', 'Bearer token-1'],
    });
  });

  it('is client-node for a kubeconfig file', async () => {
    expect(await run({ KUBECONFIG: path.join(folder, 'kubeconfig') })).toMatchObject({
      loadsClientNode: true,
      headers: ['authorization', 'Bearer token-2'],
    });
  });
});
