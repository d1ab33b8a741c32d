import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** A renewal takes less: it has time limits that add up to this. */
export const lockLifeMs = 10_000;

/**
 * Takes the lock, which one process at a time holds. Undefined where another one has it. One whose owner has died is taken over.
 * Call what it returns to give it back.
 */
export function takeLock(file: string, now = Date.now()): (() => void) | undefined {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const mark = `${process.pid} ${now} ${Math.random()}`;
  if (!create(file, mark)) {
    if (!isDead(file, now) || !bury(file, mark, now) || !create(file, mark)) return undefined;
  }
  return () => {
    if (readMark(file) === mark) rmSync(file, { force: true });
  };
}

function create(file: string, mark: string): boolean {
  try {
    writeFileSync(file, mark, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** By its age, or because no process has that number any more. */
function isDead(file: string, now: number): boolean {
  const age = ageOf(file, now);
  if (age === undefined) return true;
  if (age > lockLifeMs || age < -lockLifeMs) return true;
  const pid = Number(readMark(file)?.split(' ')[0]);
  return Number.isSafeInteger(pid) && pid > 0 && !isRunning(pid);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It runs as somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Two may find it dead at once: only the one that moved away the dead one, and not the new lock of the other, goes on. */
function bury(file: string, mark: string, now: number): boolean {
  const grave = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, grave);
  } catch {
    return true;
  }
  const wasDead = isDead(grave, now) || readMark(grave) === mark;
  if (!wasDead) create(file, readMark(grave) ?? '');
  rmSync(grave, { force: true });
  return wasDead;
}

function ageOf(file: string, now: number): number | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? undefined : now - found.mtimeMs;
}

function readMark(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
