import { setTimeout as delay } from 'node:timers/promises';
import { Guard } from '../../lab/controlplane/guard.ts';
import { directClusterEndpointTokens, events, ownedAccessKeys } from '../../src/api/resources.ts';
import { toCredentialRecord } from '../../src/credentials/credential-record.ts';
import { credentialHash } from '../../src/credentials/keys/credential-hash.ts';
import { isLive } from '../../src/credentials/liveness.ts';
import type { CredentialKind } from '../../src/credentials/record.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { usageOf } from '../measure/process-usage.ts';
import type { Sample } from '../measure/rounds.ts';
import { createMany, nameOf, templates } from '../world/objects.ts';
import { type Platform, startPlatform } from '../world/platform.ts';
import { end, type Program, prepare } from '../world/program.ts';
import { ReadyWatch } from '../world/ready-watch.ts';

const sorts = [
  { template: templates.hashedKey, resource: ownedAccessKeys, prefix: 'key' },
  { template: templates.token, resource: directClusterEndpointTokens, prefix: 'token' },
] as const;

/** The API server has then answered the last of the creates and collected its garbage. */
const pauseMs = 5_000;
const timeoutMs = 900_000;
const checkedObjects = 50;

/** Creates the objects on a new control plane, starts the program and waits until it has made all of them ready. */
export async function reconcileAll(
  program: Program,
  objects: number,
  progress: (text: string) => void,
): Promise<Sample> {
  const guard = await Guard.start('bench-trial');
  const platform = await startPlatform();
  try {
    for (const { template, prefix } of sorts) {
      progress(`${program.name}: creating ${objects} objects: ${template.resource.plural}`);
      await createMany(platform.client, template, prefix, objects);
    }
    await delay(pauseMs);
    const sample = await trial(program, objects, platform, guard);
    await requireLive(platform.client, objects);
    return { ...sample, events: await countEvents(platform) };
  } finally {
    await guard.stop();
    await platform.stop();
  }
}

async function trial(program: Program, objects: number, platform: Platform, guard: Guard): Promise<Sample> {
  const { client, plane, pids } = platform;
  const watches = await Promise.all(sorts.map(({ resource }) => ReadyWatch.open(client, resource)));
  const start = await prepare(program, plane, guard);
  const before = await usages(pids);
  const startedAt = performance.now();
  const running = await start();
  const ended = running.exited.then((code) => {
    throw new Error(`${program.name} ended with code ${code}`);
  });
  await Promise.race([Promise.all(watches.map((watch) => watch.untilReady(objects, timeoutMs))), ended]);
  const seconds = (performance.now() - startedAt) / 1000;
  const { cpuSeconds, peakMebibytes } = await usageOf(running.pid);
  const after = await usages(pids);
  for (const watch of watches) watch.close();
  ended.catch(() => undefined);
  await end(running);
  const count = objects * sorts.length;
  const firstReadyAt = Math.min(...watches.map((watch) => watch.firstReadyAt));
  return {
    first: (firstReadyAt - startedAt) / 1000,
    seconds,
    rate: count / seconds,
    cpu: cpuSeconds,
    cpuEach: (cpuSeconds * 1e6) / count,
    apiServerCpu: after.apiServer - before.apiServer,
    etcdCpu: after.etcd - before.etcd,
    peak: peakMebibytes,
    writes: watches.reduce((sum, { changes }) => sum + changes, 0) / count,
  };
}

async function usages({ apiServer, etcd }: Platform['pids']): Promise<{ apiServer: number; etcd: number }> {
  return {
    apiServer: (await usageOf(apiServer)).cpuSeconds,
    etcd: (await usageOf(etcd)).cpuSeconds,
  };
}

/** A contender that writes something else than a working credential has not done the duty. */
async function requireLive(client: KubeClient, objects: number): Promise<void> {
  const step = Math.max(1, Math.floor(objects / checkedObjects));
  for (const { resource, prefix } of sorts) {
    for (let index = 0; index < objects; index += step) {
      const name = nameOf(prefix, index);
      const object = await client.get<KubeObject & { status?: { token?: string } }>(resource, { name });
      const record = toCredentialRecord(object, resource.kind as CredentialKind);
      const verdict = isLive(record, () => undefined, Date.now(), { activityInterval: 60_000 });
      if (!verdict.live) throw new Error(`${resource.kind} ${name} does not work: ${verdict.reason}`);
      const { token } = object.status ?? {};
      if (prefix === 'token' && credentialHash(token ?? '') !== record.status.credentialHash)
        throw new Error(`${resource.kind} ${name}: the token is not the confirmed one`);
    }
  }
}

async function countEvents({ plane }: Platform): Promise<number> {
  const kubeConfig = kubeConfigSource({ file: plane.adminKubeconfig });
  const client = createKubeClient({ kubeConfig, userAgent: 'latchkey-bench' });
  try {
    const { items } = await client.list<KubeObject & { reason?: string }>(events, { namespace: 'default' });
    return items.length;
  } finally {
    await client.close();
  }
}
