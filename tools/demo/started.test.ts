import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ControlPlane } from '../../lab/controlplane/control-plane.ts';
import { type KubectlOptions, runKubectl } from '../../lab/controlplane/kubectl.ts';
import type { Binaries } from '../../lab/controlplane/versions.ts';
import { Started } from './started.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'started-'));
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

it('ends a kubectl that is waiting, and lets none begin afterwards', async () => {
  const script = path.join(folder, 'kubectl');
  const pidFile = path.join(folder, 'pid');
  await writeFile(
    script,
    `#!/bin/sh\necho $$ > ${pidFile}.new\nmv ${pidFile}.new ${pidFile}\nexec sleep 300\n`,
    {
      mode: 0o700,
    },
  );
  const stop = vi.fn(async () => undefined);
  const kubectl = async (args: readonly string[], options: KubectlOptions = {}) =>
    await runKubectl(script, args, { ...options, kubeconfig: '', cacheFolder: folder, timeoutMs: 300_000 });
  const started = new Started(async () => ({ stop, kubectl }) as unknown as ControlPlane);
  const plane = await started.controlPlane('test', {} as Binaries);

  const waiting = expect(plane.kubectl(['wait'])).rejects.toThrow('aborted');
  await vi.waitUntil(() => existsSync(pidFile), 20_000);
  const pid = Number(await readFile(pidFile, 'utf8'));
  expect(isAlive(pid)).toBe(true);
  await started.end();

  await waiting;
  expect(stop).toHaveBeenCalledOnce();
  await vi.waitUntil(() => !isAlive(pid), 20_000);
  await expect(plane.kubectl(['get'])).rejects.toThrow('aborted');
});
