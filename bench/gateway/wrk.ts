import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Endpoint } from './endpoints.ts';
import type { LoadFindings, LoadOrder, LoadSource } from './load.ts';

const run = promisify(execFile);
const graceMs = 60_000;

/** wrk; undefined where it is not installed. */
export async function findWrk(): Promise<LoadSource | undefined> {
  // It ends with 1 when it prints its version.
  const version = await run('wrk', ['--version']).catch((error: { stdout?: string; code: unknown }) => error);
  const [name] = /^wrk \S+/.exec(version.stdout ?? '') ?? [];
  return name === undefined ? undefined : { name, run: runWrk };
}

async function runWrk(endpoint: Endpoint, { path, connections, seconds }: LoadOrder): Promise<LoadFindings> {
  const headers = Object.entries(endpoint.headers(0)).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const load = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '30s', '--latency'];
  const options = { timeout: seconds * 1_000 + graceMs };
  const { stdout } = await run('wrk', [...load, ...headers, endpoint.url + path], options);
  return parseWrk(stdout);
}

/** @throws Error when a request failed: a contender that refuses is faster than one that answers. */
export function parseWrk(output: string): LoadFindings {
  const problem = /^\s*(?:Socket errors|Non-2xx).*$/m.exec(output)?.[0];
  if (problem !== undefined) throw new Error(`not every request succeeded: ${problem.trim()}`);
  const [, requests = '', duration = '', read = ''] =
    /^\s*(\d+) requests in ([\d.]+\w+), ([\d.]+\w+) read$/m.exec(output) ?? [];
  if (requests === '') throw new Error(`wrk said something unknown: ${output}`);
  return {
    requests: Number(requests),
    seconds: milliseconds(duration) / 1_000,
    bytes: quantity(read, { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 }),
    p50: latency(output, 50),
    p99: latency(output, 99),
  };
}

function latency(output: string, percent: number): number {
  const [, value] = new RegExp(`^\\s*${percent}%\\s+([\\d.]+\\w+)\\s*$`, 'm').exec(output) ?? [];
  if (value === undefined) throw new Error(`wrk said something unknown: ${output}`);
  return milliseconds(value);
}

const milliseconds = (text: string): number => quantity(text, { us: 0.001, ms: 1, s: 1_000, m: 60_000 });

function quantity(text: string, units: Readonly<Record<string, number>>): number {
  const [, number = '', unit = ''] = /^([\d.]+)(\w+)$/.exec(text) ?? [];
  const factor = units[unit];
  if (factor === undefined) throw new Error(`wrk said something unknown: ${text}`);
  return Number(number) * factor;
}
