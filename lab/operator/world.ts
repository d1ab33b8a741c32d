import { afterAll, afterEach, inject } from 'vitest';
import { group, systemNamespace, systemObjects } from '../../src/api/names.ts';
import { leases, type Resource } from '../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import { isNotFound } from '../../src/kube/kube-error.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { Guard } from '../controlplane/guard.ts';
import { keepTenant, sharedControlPlane } from '../controlplane/shared.ts';
import { Api, keyOf, type Stored } from './api.ts';
import { concurrently } from './concurrently.ts';
import { installLatchkey, untilStampsCount } from './install.ts';
import { uniqueName } from './manifest.ts';
import { runBundle } from './program.ts';
import { bindRole, giveRight } from './rights.ts';
import { type OperatorOptions, RunningOperator } from './running-operator.ts';
import { healthOf, metricOf } from './telemetry.ts';
import { until } from './until.ts';

export interface WorldOptions {
  /** Default: the control plane that all tests of the run share. */
  readonly plane?: ControlPlaneAccess;
  /** Settings of the operator. Default on the shared control plane: `targetSettings`, so that most files share one operator. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * False: nothing is started; see `startOperator`. Default: true; on the shared control plane it is the operator of the
   * file before where that had the same settings and left it at work.
   */
  readonly operator?: boolean;
  /** How many policies there are where another release is installed. Default: those of this one. */
  readonly policies?: number;
  /** False: objects are left as they are after the tests, for the control plane goes with them. Default: true. */
  readonly clear?: boolean;
}

/** A control plane with Latchkey installed and its operator at work. Ends after the tests of the file. */
export interface World {
  readonly plane: ControlPlaneAccess;
  readonly guard: Guard;
  /** The operator that was started last. */
  readonly operator: RunningOperator;
  /** The administrator. */
  readonly admin: Api;
  /**
   * An ordinary user who holds the role `latchkey-admin`, may impersonate everybody, and so make keys for them, and may do
   * with Secrets and Clusters what references to them take; and the path of a kubeconfig for kubectl.
   */
  user(name: string, groups?: readonly string[]): Promise<{ api: Api; kubeconfig: string }>;
  /** Starts an operator and waits until it leads. */
  startOperator(options?: OperatorOptions): Promise<RunningOperator>;
  /** SIGKILL to the operator that was started last. One that is started afterwards leads at once. */
  killOperator(): Promise<void>;
  name(prefix: string): string;
}

const impersonation = { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] };
const secretWriting = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] };
const binding = { apiGroups: [group], resources: ['clusters'], verbs: ['bind-namespace'] };
/** Settings with which an operator dials targets on this machine, and checks them every second. */
export const targetSettings = {
  LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8',
  LATCHKEY_TARGET_RECHECK: '1s',
};

/** A start takes two seconds on an idle machine, and 15 more where a dead leader still holds the lease. */
const startLimit = { timeoutMs: 120_000 };

/** Call it in a `describe` or at the top of a file, outside of tests. */
export async function operatorWorld(options: WorldOptions = {}): Promise<World> {
  runBundle(inject('bundle'));
  const usual = options.env ?? (options.plane === undefined ? targetSettings : {});
  const settings = options.operator === false ? undefined : JSON.stringify(usual);
  const plane = options.plane ?? (await sharedControlPlane(settings));
  await installLatchkey(plane);
  // An operator is waited for until it believes them.
  if (options.operator === false) await untilStampsCount(plane, options.policies);
  const guard = await Guard.start('operator-world');
  const things = new Belongings();
  const running: RunningOperator[] = [];
  afterAll(async () => {
    if (options.clear !== false) await things.clear();
    for (const operator of running) if (operator !== kept?.operator) await operator.end();
    await things.close();
    await guard.stop();
  });
  const apiOf = (file: string): Api => things.api(file);
  const world: World = {
    plane,
    guard,
    get operator() {
      const last = running.at(-1);
      if (last === undefined) throw new Error('no operator was started');
      return last;
    },
    admin: apiOf(plane.adminKubeconfig),
    user: async (name, groups = []) => {
      const kubeconfig = await plane.kubeconfigFor(name, groups);
      await bindRole(world.admin, name, 'latchkey-admin');
      for (const right of [impersonation, secretWriting, binding]) await giveRight(world.admin, name, right);
      return { api: apiOf(kubeconfig), kubeconfig };
    },
    startOperator: async (given = {}) => {
      const env = { ...usual, ...given.env };
      const name = given.name ?? uniqueName('operator');
      const operator = await RunningOperator.start(plane, guard, { name, env });
      running.push(operator);
      await untilLeading(operator);
      return operator;
    },
    killOperator: async () => {
      await world.operator.end('SIGKILL');
      await freeLease(world.admin);
    },
    name: uniqueName,
  };
  if (settings === undefined) return world;
  // A test that failed after it had ended the operator would fail all those after it.
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail' && world.operator.exited) await world.startOperator();
  });
  if (options.plane === undefined) running.push(await keptOperator(plane, settings));
  else await world.startOperator();
  return world;
}

interface Kept {
  readonly operator: RunningOperator;
  readonly settings: string;
}

let kept: Kept | undefined;
let guardOfKept: Promise<Guard> | undefined;

/** The operator that works from file to file. It ends with the worker, or when a file ends it or wants another. */
async function keptOperator(plane: ControlPlaneAccess, settings: string): Promise<RunningOperator> {
  if (kept?.settings === settings && !kept.operator.exited) {
    await kept.operator.beginLog();
  } else {
    guardOfKept ??= Guard.start('kept-operator');
    const options = { name: uniqueName('operator'), env: JSON.parse(settings) };
    const operator = await RunningOperator.start(plane, await guardOfKept, options);
    kept = { operator, settings };
    keepTenant({ settings, end: async () => await operator.end() });
  }
  await untilLeading(kept.operator);
  return kept.operator;
}

/**
 * Waits until this operator leads, has read everything and may confirm. An earlier leader may hold the lease for a while.
 * @throws Error with the end of its log when it ends instead.
 */
export async function untilLeading(operator: RunningOperator): Promise<void> {
  const leads = async () => {
    if (operator.exited) return true;
    return (await metricOf(operator, 'latchkey_leader')) === 1 && (await isReady(operator));
  };
  await until('the operator leads', leads, startLimit);
  if (operator.exited) throw new Error(`the operator ended: ${(await operator.log()).slice(-2_000)}`);
}

/**
 * Call it when the holder is dead for certain: an operator that is started afterwards waits for no lease to run out. What the holder
 * has written there stays, as when it gives the lease back.
 */
export async function freeLease(admin: Api): Promise<void> {
  const key = { namespace: systemNamespace, name: systemObjects.lease };
  try {
    await admin.client.mergePatch(leases, key, { spec: { holderIdentity: '' } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Waits until this operator has read the lease, which another one holds, and so waits for it. */
export async function untilStandingBy(operator: RunningOperator): Promise<void> {
  const reads = 'latchkey_client_requests_total{verb="GET",resource="leases",code="200"}';
  const hasRead = async () => (await metricOf(operator, reads)) > 0 && (await isReady(operator));
  await until('the operator stands by', hasRead, startLimit);
}

/** A leader is when it has read all objects, has a signing key, and no policy is missing. */
async function isReady(operator: RunningOperator): Promise<boolean> {
  return (await healthOf(operator, '/readyz')).status === 200;
}

/** Clients and objects of one test file. */
class Belongings {
  readonly #clients: KubeClient[] = [];
  readonly #created: [Resource, Stored][] = [];

  api(file: string): Api {
    const client = createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'latchkey-test' });
    this.#clients.push(client);
    return new Api(client, (resource, created) => this.#created.push([resource, created]));
  }

  /** Deletes all objects; waits until the operator has let go of them, and takes their finalizers away when it does not. */
  async clear(): Promise<void> {
    const [admin] = this.#clients;
    if (admin === undefined) return;
    const latestFirst = this.#created.splice(0).reverse();
    await concurrently(latestFirst, async ([resource, object]) => await remove(admin, resource, object));
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map(async (client) => await client.close()));
  }
}

async function remove(admin: KubeClient, resource: Resource, object: Stored): Promise<void> {
  const key = keyOf(object);
  try {
    const { uid } = object.metadata;
    const isGone = await admin.delete(resource, key, { preconditions: { uid } });
    if (!isGone) await admin.mergePatch(resource, key, { metadata: { uid, finalizers: null } });
  } catch (error) {
    if (!isNotFound(error) && !isOther(error)) throw error;
  }
}

/** Another object under the same name: a test made it, and it is in the list itself. */
const isOther = (error: unknown): boolean => (error as { status?: unknown }).status === 409;
