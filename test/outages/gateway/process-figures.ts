import { readFileSync } from 'node:fs';

const mebibyte = 1_024;

/** Memory of a process that is in use, in MiB. */
export function residentMiB(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / mebibyte;
}

/** How many files and sockets a process started here may have open. */
export function openFileLimit(): number {
  const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return Number(limit);
}
