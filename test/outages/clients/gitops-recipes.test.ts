import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { secretAt } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { apiVersion } from '../../../src/api/names.ts';
import { readDocument, sectionOf } from '../../../tools/reference/document.ts';
import { buildTimeoutMs } from '../../clients/helm.ts';
import { LibraryClients } from '../../clients/library-clients.ts';
import { issuedKubeconfigs } from './issued-kubeconfigs.ts';

const { world, inside, targets } = await issuedKubeconfigs();
const { plane, admin, guard } = world;
const issued = targets['connected cluster'];
let libraries: LibraryClients;
beforeAll(async () => {
  libraries = await LibraryClients.build(guard.folder);
}, buildTimeoutMs);

/** A block of the page with the clients. */
function blockOf(section: string, language: string): string {
  const text = sectionOf(readDocument('docs/reference/clients.md'), section);
  const [, block] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(text) ?? [];
  if (block === undefined) throw new Error(`section ${section} has no block ${language}`);
  return block;
}

const decoded = (data: Readonly<Record<string, string>> | undefined, key: string): string =>
  Buffer.from(data?.[key] ?? '', 'base64').toString();

async function namespaceOf(name: string): Promise<void> {
  const input = stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const { stderr, exitCode } = await plane.kubectl(['apply', '-f', '-'], { input });
  expect(exitCode, stderr).toBe(0);
}

const mapOf = (name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: issued.namespace } });

it('Argo CD reaches a target by the Secret of a cluster that the page shows', async () => {
  const { clusters, users } = parse(await readFile(issued.kubeconfig, 'utf8'));
  const [{ cluster }] = clusters;
  const input = blockOf('Argo CD', 'yaml')
    .replace(`${baseURL}/kubernetes/cluster/eu`, cluster.server)
    .replace('<the access key>', users[0].user.token)
    .replace('<the certificate-authority-data of your kubeconfig>', cluster['certificate-authority-data']);
  await namespaceOf('argocd');
  const { stderr, exitCode } = await plane.kubectl(['apply', '-f', '-'], { input });
  expect(exitCode, stderr).toBe(0);
  const { data, metadata } = await admin.get(secretAt('argocd', 'eu'));
  expect(metadata.labels).toEqual({ 'argocd.argoproj.io/secret-type': 'cluster' });
  const { bearerToken, tlsClientConfig, ...others } = JSON.parse(decoded(data, 'config'));
  expect(others).toEqual({});
  const file = path.join(guard.folder, 'argocd-cluster.yaml');
  // The kubeconfig that client-go gets of Argo CD: the token as it is, and the authority decoded.
  const connection = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'eu' },
    clusters: [
      {
        name: 'eu',
        cluster: {
          server: decoded(data, 'server'),
          'certificate-authority-data': tlsClientConfig.caData,
        },
      },
    ],
    users: [{ name: 'eu', user: { token: bearerToken } }],
    contexts: [{ name: 'eu', context: { cluster: 'eu', user: 'eu' } }],
  };
  await writeFile(file, stringify(connection), { mode: 0o600 });
  const told = await libraries.run(['flux', file, issued.namespace], mapOf(world.name('argocd')));
  expect(told.filter((line) => line.endsWith(' created'))).toHaveLength(1);
  await admin.delete(secretAt('argocd', 'eu'));
});

describe('Flux', () => {
  it('reaches a target by the Secret that the command of the page makes', async () => {
    const folder = path.join(guard.folder, 'flux-recipe');
    await mkdir(folder);
    await copyFile(issued.kubeconfig, path.join(folder, 'eu.kubeconfig'));
    await namespaceOf('flux-system');
    const [, command = ''] = /^\$ (.*)$/m.exec(blockOf('Flux', 'console')) ?? [];
    const env = {
      ...process.env,
      ...{ KUBECONFIG: plane.adminKubeconfig, KUBECACHEDIR: path.join(plane.folder, 'kubectl-cache') },
      PATH: `${path.dirname(plane.binaries.kubectl)}:${process.env['PATH']}`,
    };
    await promisify(execFile)('bash', ['-c', command], { cwd: folder, env });
    const { secretRef } = parse(blockOf('Flux', 'yaml')).spec.kubeConfig;
    const { data } = await admin.get(secretAt('flux-system', secretRef.name));
    const file = path.join(folder, 'of-the-secret');
    // Where a Kustomization names no key, Flux takes this one.
    await writeFile(file, decoded(data, 'value'), { mode: 0o600 });
    const name = world.name('flux');
    const told = await libraries.run(['flux', file, issued.namespace], mapOf(name));
    expect(told).toEqual(
      ['created', 'unchanged', 'deleted'].map((change) => expect.stringContaining(change)),
    );
    expect(await inside.admin.find(secretAt(issued.namespace, name))).toBeUndefined();
    await admin.delete(secretAt('flux-system', secretRef.name));
  });

  it('with wait: true says of a disabled key at once that it has failed', async () => {
    const key = await admin.createKey({ user: 'alice', key: '', ttl: 3600 });
    await admin.untilReady(key);
    const { name } = key.metadata;
    const manifest = JSON.stringify({ apiVersion, kind: 'OwnedAccessKey', metadata: { name } });
    const health = async () => await libraries.run(['health', plane.adminKubeconfig], manifest);
    expect(await health()).toEqual(['ready']);
    await admin.patch(key, { spec: { disabled: true } });
    await admin.untilRefused(key, 'Disabled');
    const [line = ''] = await health();
    expect(line).toContain(`OwnedAccessKey/${name} status: 'Failed'`);
    expect(line).not.toContain('timeout');
  });
});
