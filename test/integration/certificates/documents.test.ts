import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { kubeConfigNames } from '../../../src/credentials/kubeconfig-document.ts';
import { createKubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { buildClientGo, type ClientGo } from '../../clientgo/client-go.ts';
import { sign, writeDocument } from './sign.ts';

let one: ControlPlaneAccess;
let two: ControlPlaneAccess;
let guard: Guard;
let clientGo: ClientGo;

beforeAll(async () => {
  guard = await Guard.start('documents');
  one = await sharedControlPlane();
  two = (await sharedVirtualCluster()).plane;
  clientGo = await buildClientGo(guard.folder, one.binaries.kubectl);
});

afterAll(async () => {
  await guard?.stop();
});

interface Holder {
  readonly subject: string;
  /** Path of the document. */
  readonly file: string;
  readonly context: string;
}

/** A document with a new certificate that grants nothing yet. */
async function holderOf(plane: ControlPlaneAccess, instance: string): Promise<Holder> {
  const subject = certificateSubject(randomUUID(), 1);
  const kubeConfig = kubeConfigSource({ file: plane.adminKubeconfig });
  const client = createKubeClient({ kubeConfig, userAgent: 'latchkey-test' });
  try {
    const { certificate, key } = await sign(client, subject, 600);
    const context = kubeConfigNames({ namespace: 'p-team', instance, object: instance });
    return { subject, file: await writeDocument(plane, context, { certificate, key }), context };
  } finally {
    await client.close();
  }
}

/** Binds the subject as user, as kubeconfigs are bound. */
async function bind(plane: ControlPlaneAccess, { subject, file }: Holder): Promise<void> {
  const args = ['create', 'clusterrolebinding', uniqueName('documents'), '--clusterrole=cluster-admin'];
  expect(await plane.kubectl([...args, `--user=${subject}`])).toMatchObject({ exitCode: 0 });
  const allowed = async () =>
    (await plane.kubectl(['get', 'namespaces'], { kubeconfig: file })).exitCode === 0;
  await until(`${subject} may list namespaces`, allowed);
}

describe('a document with a client certificate', () => {
  let holder: Holder;
  beforeAll(async () => {
    holder = await holderOf(one, 'alone');
  });

  it('proves who its holder is, and gives no right by itself', async () => {
    const refused = await one.kubectl(['get', 'namespaces'], { kubeconfig: holder.file });
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
    expect(refused.stderr).toContain(`User "${holder.subject}" cannot list resource "namespaces"`);
    const { exitCode, stderr } = await clientGo.listNamespaces(holder.file);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`User "${holder.subject}" cannot list resource "namespaces"`);
  });

  it('works with kubectl and with client-go once its subject is bound', async () => {
    await bind(one, holder);
    const listed = await one.kubectl(['get', 'ns', '-o', 'name'], { kubeconfig: holder.file });
    expect(listed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(listed.stdout).toContain('namespace/kube-system\n');
    expect(await clientGo.listNamespaces(holder.file)).toMatchObject({
      exitCode: 0,
      stderr: '',
      namespaces: expect.arrayContaining(['default', 'kube-system']),
    });
  });
});

describe('a document with a token', () => {
  it('works with kubectl and with client-go', async () => {
    const account = uniqueName('robot');
    await one.kubectl(['create', 'serviceaccount', account]);
    const token = (await one.kubectl(['create', 'token', account])).stdout.trim();
    const file = await writeDocument(one, 'p-team/dev/ci', { token });
    await bind(one, { subject: `system:serviceaccount:default:${account}`, file, context: 'p-team/dev/ci' });
    expect((await clientGo.listNamespaces(file)).namespaces).toContain('kube-system');
  });
});

describe('two documents', () => {
  let holders: readonly [Holder, Holder];
  let both: string;
  beforeAll(async () => {
    holders = [await holderOf(one, 'one'), await holderOf(two, 'two')];
    await bind(one, holders[0]);
    await bind(two, holders[1]);
    await one.kubectl(['create', 'namespace', 'only-in-one']);
    await two.kubectl(['create', 'namespace', 'only-in-two']);
    both = holders.map(({ file }) => file).join(path.delimiter);
  });

  const kubectl = async (kubeconfig: string, ...args: string[]) => await one.kubectl(args, { kubeconfig });

  it('are used together, each context with its own cluster, authority and certificate', async () => {
    const contexts = await kubectl(both, 'config', 'get-contexts', '-o', 'name');
    expect(contexts.stdout).toBe('p-team/one\np-team/two\n');
    await expectBothUsable(both);
  });

  it('become one file with kubectl config view --flatten', async () => {
    const { stdout, exitCode } = await kubectl(both, 'config', 'view', '--flatten');
    expect(exitCode).toBe(0);
    const merged = path.join(guard.folder, 'merged.yaml');
    await writeFile(merged, stdout, { mode: 0o600 });
    await expectBothUsable(merged);
  });

  async function expectBothUsable(kubeconfig: string): Promise<void> {
    for (const [index, { context, subject }] of holders.entries()) {
      const [here, elsewhere] = index === 0 ? ['only-in-one', 'only-in-two'] : ['only-in-two', 'only-in-one'];
      const whoAmI = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
      expect((await kubectl(kubeconfig, ...whoAmI, '--context', context)).stdout).toBe(subject);
      const { namespaces } = await clientGo.listNamespaces(kubeconfig, context);
      expect(namespaces).toContain(here);
      expect(namespaces).not.toContain(elsewhere);
    }
    expect((await kubectl(kubeconfig, 'config', 'current-context')).stdout).toBe('p-team/one\n');
  }
});
