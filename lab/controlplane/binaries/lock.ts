import { readlink, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Guard } from '../guard.ts';
import type { Report } from './report.ts';

const heartbeatFile = 'alive';
const heartbeatMs = 2000;
/** So long without a heartbeat, and the holder counts as dead: a power cut, or a machine that sleeps. */
const staleMs = 30_000;
const pollMs = 200;
const reportMs = 10_000;

/**
 * Holds a lock while the work runs. The lock is a symbolic link to the folder of the holder's guard, which takes both
 * away however the holder ends. It spares double work and no more: should two processes hold it (one slept, and was
 * taken for dead), each works in its own folder, and the first to rename its result into place wins.
 *
 * @param isDone asked while another process holds the lock; true ends the wait
 * @returns false when another process did the work.
 */
export async function withLock(
  lock: { readonly file: string; readonly guard: Guard; readonly report: Report },
  isDone: () => Promise<boolean>,
  work: () => Promise<void>,
): Promise<boolean> {
  const alive = path.join(lock.guard.folder, heartbeatFile);
  await writeFile(alive, '');
  const timer = setInterval(() => void touch(alive).catch(() => undefined), heartbeatMs);
  try {
    if (!(await acquire(lock, isDone))) return false;
    // The holder before us may have finished between our look and our lock.
    if (await isDone()) return false;
    await work();
    return true;
  } finally {
    clearInterval(timer);
  }
}

async function acquire(
  { file, guard, report }: { readonly file: string; readonly guard: Guard; readonly report: Report },
  isDone: () => Promise<boolean>,
): Promise<boolean> {
  let reported = Number.NEGATIVE_INFINITY;
  while (!(await guard.link(file))) {
    if (await isDone()) return false;
    if (await isStale(file)) await breakLock(file, guard.folder);
    else {
      if (performance.now() - reported > reportMs) {
        report('another process is fetching the programs, waiting for it');
        reported = performance.now();
      }
      await delay(pollMs);
    }
  }
  return true;
}

async function isStale(file: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(path.join(await readlink(file), heartbeatFile));
    return Date.now() - mtimeMs > staleMs;
  } catch {
    // The link or the folder behind it is gone.
    return true;
  }
}

/** Moved first: a second waiter that judged the same link stale finds nothing there, or fails to move. */
async function breakLock(file: string, folder: string): Promise<void> {
  const grave = path.join(folder, 'broken-lock');
  await rename(file, grave).catch(() => undefined);
  await rm(grave, { force: true });
}

async function touch(file: string): Promise<void> {
  const now = new Date();
  await utimes(file, now, now);
}
