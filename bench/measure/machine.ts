import { execFile } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { figure } from './table.ts';

/** Describes the machine of the figures, one fact a line. */
export async function machineFacts(): Promise<readonly string[]> {
  const [{ model = 'unknown' } = {}] = cpus();
  const [load = 0] = loadavg();
  return [
    `${cpus().length} cores (${model}), ${figure(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
    `Node ${process.versions.node}, ${await goVersion()}`,
    `load average of the last minute at the start: ${load.toFixed(2)}${load > 0.5 ? ' (the machine was not quiet)' : ''}`,
  ];
}

async function goVersion(): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('go', ['version']);
    return stdout.trim();
  } catch {
    return 'no Go';
  }
}
