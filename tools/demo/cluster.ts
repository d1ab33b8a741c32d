import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { KubectlResult } from '../../lab/controlplane/kubectl.ts';
import { applyKustomization } from '../../lab/operator/kustomization.ts';
import { until } from '../../lab/operator/until.ts';
import type { Say } from './progress.ts';

/** The kinds of keys and tokens. */
export const credentialKinds = 'ownedaccesskeys,directclusterendpointtokens';
/** Kubeconfigs, and what credentials point at. */
export const targetKinds = 'vci,vcik,si,clusters.management.platform.sh';
const readySeconds = 60;
/** A policy that names our kinds refuses all of them until the API server has noticed the CRDs. */
const noticeMs = 60_000;
const retryMs = 500;

/**
 * Applies `config/default` with the recommended site policy, and waits until the kinds are served. @throws Error with what
 * kubectl said.
 */
export async function install(plane: ControlPlaneAccess): Promise<void> {
  await applyKustomization(plane, '../tools/demo/platform');
  const established = ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s'];
  requireSuccess(await plane.kubectl(established), 'waiting for the CRDs');
}

/** Gives a new ordinary user the shipped role for people who run the platform. Returns the path of a kubeconfig. */
export async function bindAdministrator(plane: ControlPlaneAccess, user: string): Promise<string> {
  for (const role of ['latchkey-admin', 'view']) {
    const binding = [
      'create',
      'clusterrolebinding',
      `demo-${user}-${role}`,
      `--clusterrole=${role}`,
      `--user=${user}`,
    ];
    requireSuccess(await plane.kubectl(binding), `binding ${user} to ${role}`);
  }
  return await plane.kubeconfigFor(user);
}

/** Applies a kustomization as the user of the kubeconfig. @throws Error with what kubectl said. */
export async function applyAs(
  plane: ControlPlaneAccess,
  kubeconfig: string,
  folder: string,
  say: Say,
): Promise<void> {
  const deadline = performance.now() + noticeMs;
  let told = false;
  for (;;) {
    const result = await plane.kubectl(['apply', '-k', folder], { kubeconfig });
    if (result.exitCode === 0) return;
    if (!isTooEarly(result) || performance.now() > deadline) {
      return requireSuccess(result, `kubectl apply -k ${folder}`);
    }
    if (!told) say('the API server has not noticed the new kinds everywhere yet; trying again until it has');
    told = true;
    await delay(retryMs);
  }
}

/** Tells an answer of the API server in the first seconds after a CRD and a policy about it were made. */
export function isTooEarly({ stderr }: Pick<KubectlResult, 'stderr'>): boolean {
  return /There can be a delay|no matches for kind|the server could not find the requested resource/i.test(
    stderr,
  );
}

/** Waits for `Ready=True` of everything. Resolves to nothing, or to the list of what there is when it takes too long. */
export async function untilReady(plane: ControlPlaneAccess, kubeconfig: string): Promise<string | undefined> {
  const kinds = `${credentialKinds},${targetKinds}`;
  const wait = ['wait', '--for=condition=Ready', kinds, '--all', '-A', `--timeout=${readySeconds}s`];
  // kubectl gives each object the whole time.
  const options = { kubeconfig, timeoutMs: (readySeconds + 30) * 1000 };
  const ready = await plane.kubectl(wait, options).catch(() => undefined);
  if (ready?.exitCode === 0) return undefined;
  const { stdout } = await plane.kubectl(['get', kinds, '-A', '-o', 'wide'], { kubeconfig });
  return `${stdout}${ready?.stderr ?? ''}`.trimEnd();
}

/** @throws Error when the command failed. */
export function requireSuccess({ exitCode, stderr }: KubectlResult, what: string): void {
  if (exitCode !== 0) throw new Error(`${what} failed:\n${stderr.trimEnd()}`);
}

/** Like `read`, where something may not be there yet, or the gateway may not have heard of it. */
export async function readSoon(
  plane: ControlPlaneAccess,
  args: readonly string[],
  kubeconfig?: string,
): Promise<string> {
  return await until(`kubectl ${args.join(' ')}`, async () => await read(plane, args, kubeconfig), {
    timeoutMs: 30_000,
  });
}

/** Returns what kubectl prints, as the administrator unless another kubeconfig is given. @throws Error with what it said. */
export async function read(
  plane: ControlPlaneAccess,
  args: readonly string[],
  kubeconfig?: string,
): Promise<string> {
  const result = await plane.kubectl(args, kubeconfig === undefined ? {} : { kubeconfig });
  requireSuccess(result, `kubectl ${args.join(' ')}`);
  return result.stdout.trimEnd();
}
