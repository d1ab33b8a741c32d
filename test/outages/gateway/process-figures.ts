import { readFileSync, writeFileSync } from 'node:fs';

const mebibyte = 1_024;

/** Memory of a process that is in use, in MiB. */
export const residentMiB = (pid: number): number => memoryOf(pid, 'VmRSS');

/** Forgets how much memory a process ever had, and returns how to read the most that it had since, in MiB. */
export function peakFromNow(pid: number): () => number {
  // See proc_pid_clear_refs(5).
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return () => memoryOf(pid, 'VmHWM');
}

function memoryOf(pid: number, line: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kibibytes] = new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kibibytes) / mebibyte;
}

/** How many files and sockets a process started here may have open. */
export function openFileLimit(): number {
  const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return Number(limit);
}
