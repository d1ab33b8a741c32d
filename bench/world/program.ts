import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { Guard, GuardedProcess } from '../../lab/controlplane/guard.ts';
import { accountKubeconfig, baseURL } from '../../lab/operator/running-operator.ts';
import { buildBundle } from '../../tools/bundle/build-bundle.ts';

/** A controller that can be started as a process. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Latchkey as its image runs it: the bundle, with the default settings. */
export async function latchkey(folder: string, profile?: string): Promise<Program> {
  const bundle = path.join(folder, 'latchkey.mjs');
  await buildBundle(bundle);
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${path.resolve(profile)}`];
  return {
    name: 'Latchkey',
    command: process.execPath,
    args: [...profiling, bundle, 'operator'],
    env: {
      NODE_ENV: 'production',
      LATCHKEY_BASE_URL: baseURL,
      LATCHKEY_HEALTH_ADDRESS: '127.0.0.1:0',
      LATCHKEY_METRICS_ADDRESS: '127.0.0.1:0',
      // Where virtual clusters of benchmarks are; refused by default.
      LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8',
      // One user makes all objects of a benchmark.
      LATCHKEY_MAX_OBJECTS_PER_OWNER: '0',
    },
  };
}

/** Makes what starts the program as the operator's ServiceAccount: no one else may write status. */
export async function prepare(
  program: Program,
  plane: ControlPlaneAccess,
  guard: Guard,
): Promise<() => Promise<GuardedProcess>> {
  const { command, args, env } = program;
  const KUBECONFIG = await accountKubeconfig(plane, 'latchkey-operator');
  return async () => await guard.run({ name: 'controller', command, args, env: { ...env, KUBECONFIG } });
}

/** Ends the program in order, so that a profile is written. */
export async function end({ pid, exited }: GuardedProcess): Promise<void> {
  process.kill(pid, 'SIGTERM');
  await exited;
}
