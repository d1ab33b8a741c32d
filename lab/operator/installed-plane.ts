import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import path from 'node:path';
import { inject } from 'vitest';
import { withLock } from '../controlplane/binaries/lock.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../controlplane/control-plane.ts';
import { Guard } from '../controlplane/guard.ts';
import { installLatchkey, markInstalled } from './install.ts';

/**
 * Starts a control plane on which `config/default` is installed, for a file that needs one of its own. It begins with the data of another
 * one, so it applies nothing, and its policies are old enough for an operator to believe them. Make it and `operatorWorld` in this order.
 */
export async function startInstalled(options: ControlPlaneOptions): Promise<ControlPlane> {
  const plane = await startControlPlane({ ...options, etcdData: await installedData() });
  await markInstalled(plane);
  return plane;
}

/** The first of a run that asks makes it; the others wait. It goes with the bundle beside it. */
async function installedData(): Promise<string> {
  const data = path.join(path.dirname(inject('bundle')), 'installed-data');
  const isDone = async () => existsSync(data);
  if (await isDone()) return data;
  const guard = await Guard.start('installed-data');
  try {
    const lock = { file: `${data}.lock`, guard, report: () => undefined };
    await withLock(lock, isDone, async () => await makeData(path.join(guard.folder, 'data'), data));
  } finally {
    await guard.stop();
  }
  return data;
}

/** Shows the whole data or nothing. */
async function makeData(unfinished: string, data: string): Promise<void> {
  const plane = await startControlPlane({ name: 'installed' });
  try {
    await installLatchkey(plane);
    await plane.saveEtcdData(unfinished);
    await rename(unfinished, data);
  } finally {
    await plane.stop();
  }
}
