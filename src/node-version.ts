import { LatchkeyError } from './errors.ts';

const minimum = [24, 9] as const;

/** Throws ERR_NODE_VERSION when `version` (as in `process.versions.node`) is too old. */
export function requireNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > minimum[0] || (major === minimum[0] && minor >= minimum[1])) return;
  throw new LatchkeyError('ERR_NODE_VERSION', { minimum: minimum.join('.'), version });
}
