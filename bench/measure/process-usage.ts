import { readdir, readFile } from 'node:fs/promises';

/** The usage of a process since its start, all its threads together. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The most memory that it ever held at once. */
  readonly peakMebibytes: number;
  /** The memory that it holds now. */
  readonly residentMebibytes: number;
}

/** Linux counts CPU time for /proc in hundredths of a second, whatever the kernel's own clock. */
const ticksPerSecond = 100;

/** Throws the error of the file system when the process has ended, or where there is no /proc. */
export async function usageOf(pid: number): Promise<Usage> {
  const [stat, status] = await Promise.all(
    ['stat', 'status'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
  );
  return {
    cpuSeconds: parseCpuSeconds(stat ?? ''),
    peakMebibytes: parseMemory(status ?? '', 'VmHWM'),
    residentMebibytes: parseMemory(status ?? '', 'VmRSS'),
  };
}

/** User and system time of /proc/<pid>/stat. The name of the program stands in brackets and may hold anything. */
export function parseCpuSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [fields[11], fields[12]].map(Number);
  if (user === undefined || system === undefined || Number.isNaN(user + system))
    throw new TypeError('no CPU times in /proc/<pid>/stat');
  return (user + system) / ticksPerSecond;
}

/** One line of /proc/<pid>/status, in MiB: the peak (`VmHWM`), or what it is now (`VmRSS`). */
export function parseMemory(status: string, line: 'VmHWM' | 'VmRSS'): number {
  const kibibytes = new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kibibytes === undefined) throw new TypeError(`no ${line} in /proc/<pid>/status`);
  return Number(kibibytes) / 1024;
}

/** The process whose command line holds all these texts. Throws when there is not exactly one. */
export async function processWith(...texts: readonly string[]): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: number[] = [];
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (pid !== process.pid && texts.every((text) => line.includes(text))) found.push(pid);
  }
  const [only, ...others] = found;
  if (only === undefined || others.length > 0)
    throw new Error(`${found.length} processes instead of one with: ${texts.join(', ')}`);
  return only;
}
