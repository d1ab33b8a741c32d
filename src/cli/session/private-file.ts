import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Failure } from '../shared/failure.ts';

/**
 * Reads a file that holds a key. Undefined where there is none. Throws a Failure where others on this machine could read it too, or
 * where it cannot be read.
 */
export function readPrivate(file: string, platform: NodeJS.Platform): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(file, error);
  }
  try {
    // Windows has no such bits: the folder belongs to the user.
    const { mode } = fstatSync(descriptor);
    if (platform !== 'win32' && (mode & 0o077) !== 0) throw tooOpen(file);
    return readFileSync(descriptor, 'utf8');
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(file, error);
  } finally {
    closeSync(descriptor);
  }
}

const tooOpen = (file: string): Failure =>
  new Failure(
    'usage',
    `${file} holds a key, and others on this machine may read it`,
    `Run \`chmod 600 ${file}\`.`,
  );

const unreadable = (file: string, cause: unknown): Failure =>
  new Failure(
    'usage',
    `${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'no reason'})`,
    'Give a file that you may read.',
    { cause },
  );

/** Replaces the file as a whole, so that no reader sees half of it. Only its owner may read it. */
export function writePrivate(file: string, text: string): void {
  const draft = `${file}.${process.pid}.new`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    rmSync(draft, { force: true });
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new Failure(
      'failure',
      `${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? 'no reason'})`,
      'Make room, or set XDG_CONFIG_HOME and XDG_CACHE_HOME to folders that you may write to.',
      { cause: error },
    );
  }
}

/** Changes whenever the file does; empty where there is none. */
export function versionOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino}:${found.size}:${found.mtimeMs}`;
}
