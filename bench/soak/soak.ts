import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { Guard } from '../../lab/controlplane/guard.ts';
import { RunningOperator } from '../../lab/operator/running-operator.ts';
import { metricOf, metricsOf } from '../../lab/operator/telemetry.ts';
import { until } from '../../lab/operator/until.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { kubectl } from '../world/kubectl.ts';
import { benchUser } from '../world/platform.ts';
import { Churn } from './churn.ts';
import type { Sample } from './flatness.ts';

export interface SoakOptions {
  readonly plane: ControlPlaneAccess;
  /** Of the ordinary user of a `Platform`. */
  readonly client: KubeClient;
  readonly seconds: number;
  readonly operationsPerSecond: number;
  readonly everySeconds: number;
  readonly onSample: (sample: Sample) => void;
}

export interface SoakResult {
  readonly samples: readonly Sample[];
  readonly operations: number;
}

/** Operations that are under way at the same time; a slow machine does fewer, and does not catch up. */
const maxUnderWay = 50;
/** It has 47 with 200 objects: watches, connections that wait for work, and their timers. */
const maxHandlesAtRest = 100;

/**
 * Churns under an operator of its own, and measures what that holds. Rejects when an operation fails, when the operator ends, and when
 * it keeps handles after the churn.
 */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  await allowSecrets(options);
  const guard = await Guard.start('soak');
  try {
    const env = { LATCHKEY_MAX_OBJECTS_PER_OWNER: '0' };
    const operator = await RunningOperator.start(options.plane, guard, { name: 'soak', env });
    const leads = async () => (await metricOf(operator, 'latchkey_leader')) === 1;
    await until('the operator leads', leads);
    return await churnAndMeasure(operator, options);
  } finally {
    await guard.stop();
  }
}

/** Grants what naming a Secret in `secretRef` takes. */
async function allowSecrets({ plane, client }: SoakOptions): Promise<void> {
  const namespace = '--namespace=default';
  await kubectl(plane, [
    'create',
    'role',
    'soak',
    namespace,
    '--verb=get,create,update',
    '--resource=secrets',
  ]);
  await kubectl(plane, ['create', 'rolebinding', 'soak', namespace, '--role=soak', `--user=${benchUser}`]);
  const [apiVersion, kind] = ['authorization.k8s.io/v1', 'SelfSubjectAccessReview'];
  const resourceAttributes = { verb: 'create', resource: 'secrets', namespace: 'default' };
  const body = { apiVersion, kind, spec: { resourceAttributes } };
  const isAllowed = async () => {
    const path = `/apis/${apiVersion}/selfsubjectaccessreviews`;
    return (await client.request<{ status: { allowed: boolean } }>('POST', path, { body })).status.allowed;
  };
  await until('the user may write Secrets', isAllowed);
}

async function churnAndMeasure(operator: RunningOperator, options: SoakOptions): Promise<SoakResult> {
  const { client, seconds, everySeconds, onSample } = options;
  const churn = new Churn(client);
  const began = performance.now();
  const stop = new AbortController();
  const churning = keepPace(churn, options.operationsPerSecond, stop.signal);
  const samples: Sample[] = [];
  const measuring = async () => {
    for (let at = 0; at <= seconds; at += everySeconds) {
      await delay(Math.max(0, began + at * 1_000 - performance.now()));
      if (operator.exited) throw new Error(`the operator ended: ${(await operator.log()).slice(-2_000)}`);
      const sample = { seconds: (performance.now() - began) / 1_000, ...(await measure(operator)) };
      samples.push(sample);
      onSample(sample);
    }
  };
  try {
    await Promise.race([measuring(), churning]);
  } finally {
    stop.abort();
    await churning;
  }
  const isAtRest = async () => (await measure(operator)).handles <= maxHandlesAtRest;
  await until('the operator has let go of what the churn needed', isAtRest);
  return { samples, operations: churn.done };
}

async function keepPace(churn: Churn, perSecond: number, signal: AbortSignal): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  while (!signal.aborted) {
    if (underWay.size < maxUnderWay) {
      const operation: Promise<void> = churn
        .next()
        .catch(failed.reject)
        .finally(() => underWay.delete(operation));
      underWay.add(operation);
    }
    await Promise.race([delay(1_000 / perSecond), failed.promise]);
  }
  await Promise.all(underWay);
}

async function measure(operator: RunningOperator): Promise<Omit<Sample, 'seconds'>> {
  const text = await metricsOf(operator);
  const mebibytes = 2 ** 20;
  return {
    resident: figureIn(text, 'process_resident_memory_bytes') / mebibytes,
    heap: figureIn(text, 'nodejs_heap_size_used_bytes') / mebibytes,
    handles: figureIn(text, 'nodejs_active_resources_total'),
    sockets: await socketsOf(operator.process.pid),
  };
}

/** Throws a TypeError where there is no such figure. */
export function figureIn(metrics: string, name: string): number {
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(metrics)?.[1];
  if (value === undefined) throw new TypeError(`no ${name} among the metrics`);
  return Number(value);
}

async function socketsOf(pid: number): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all(
    // One may be closed while they are read.
    (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith('socket:')).length;
}
