import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { buildGoProgram } from '../../lab/go/build-program.ts';
import type { Endpoint } from './endpoints.ts';

export interface LoadOrder {
  /** Path and query, as the API server serves it. */
  readonly path: string;
  readonly connections: number;
  readonly seconds: number;
}

/** The findings of a source of load. Latencies are milliseconds. */
export interface LoadFindings {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
}

/** Sends requests from a process of its own, each connection as soon as it has its answer. */
export interface LoadSource {
  readonly name: string;
  /** @throws Error when a request failed. */
  run(endpoint: Endpoint, order: LoadOrder): Promise<LoadFindings>;
}

export interface PacedOrder extends LoadOrder {
  /** Requests a second, over all connections. Absent: as soon as the answer is there. */
  readonly rate?: number;
  /** Bearer strings that are sent in turn, in place of those of the endpoint. */
  readonly bearers?: readonly string[];
}

export interface PacedFindings extends LoadFindings {
  readonly max: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly lastError?: string;
  /** Connections that were opened in all. */
  readonly opened: number;
}

export interface WatchOrder {
  readonly path: string;
  readonly watches: number;
  readonly changes: number;
  readonly intervalMs: number;
  /** Of the object that is changed. */
  readonly changedPath: string;
}

/** Watches that are open. */
export interface OpenWatches {
  /** Changes the object again and again, and resolves when every watch has seen every change; the watches end then. */
  change(): Promise<{ readonly events: number; readonly p50: number; readonly p99: number }>;
}

const graceMs = 120_000;

/** Our own generator, in Go: it keeps a pace, sends many keys, and opens watches. */
export class Generator implements LoadSource {
  readonly name = 'a generator of our own (Go, raw HTTP/1.1)';
  readonly #command: string;

  /** @throws Error where there is no command `go`. */
  static async build(folder: string): Promise<Generator> {
    const command = path.join(folder, 'load');
    if (!(await buildGoProgram(path.join(import.meta.dirname, '../load'), command)))
      throw new Error(
        'the benchmarks of the gateway need the command go, which builds what sends their load',
      );
    return new Generator(command);
  }

  private constructor(command: string) {
    this.#command = command;
  }

  async run(endpoint: Endpoint, order: LoadOrder): Promise<LoadFindings> {
    const found = await this.pace(endpoint, order);
    requireSuccess(endpoint, found);
    return found;
  }

  /** Also returns what failed. */
  async pace(
    endpoint: Endpoint,
    { path: asked, rate = 0, bearers, ...order }: PacedOrder,
  ): Promise<PacedFindings> {
    const headers = bearers?.map((bearer) => ({ Authorization: `Bearer ${bearer}` })) ?? [
      endpoint.headers(0),
    ];
    const { host, pathname } = placeOf(endpoint);
    const requests = headers.map((one) => ({ path: pathname + asked, headers: one }));
    const child = this.#spawn({ address: host, requests, rate, ...order }, order.seconds * 1_000 + graceMs);
    child.stdin.end();
    return JSON.parse(await finished(child)) as PacedFindings;
  }

  /** Opens watches with the keys from 0 on, a hundred with each: the gateway limits how many one key may have. */
  async watch(endpoint: Endpoint, writer: Endpoint, order: WatchOrder): Promise<OpenWatches> {
    const { host, pathname } = placeOf(endpoint);
    const keys = Math.ceil(order.watches / watchesOfKey);
    const requests = Array.from({ length: keys }, (_, key) => ({
      path: pathname + order.path,
      headers: endpoint.headers(key),
    }));
    const place = placeOf(writer);
    const change = {
      path: place.pathname + order.changedPath,
      headers: { ...writer.headers(0), 'Content-Type': 'application/merge-patch+json' },
    };
    const { changes, intervalMs } = order;
    const watch = { changes, intervalMs, address: place.host, change };
    const work = { address: host, requests, connections: order.watches, watch };
    const child = this.#spawn(work, changes * intervalMs + graceMs);
    const rest = finished(child);
    await Promise.race([firstLine(child), rest]);
    return {
      change: async () => {
        child.stdin.end('go\n');
        const [, findings = ''] = (await rest).trim().split('\n');
        return JSON.parse(findings);
      },
    };
  }

  #spawn(order: object, timeoutMs: number) {
    const stdio = ['pipe', 'pipe', 'pipe'] as const;
    const child = spawn(this.#command, [], { stdio: [...stdio], timeout: timeoutMs, killSignal: 'SIGKILL' });
    // The end of the process says more than that it could not be written to.
    child.stdin.on('error', () => undefined);
    child.stdin.write(`${JSON.stringify(order)}\n`);
    return child;
  }
}

const watchesOfKey = 100;

type Child = ReturnType<typeof spawn> & {
  readonly stdin: NonNullable<ReturnType<typeof spawn>['stdin']>;
  readonly stdout: NonNullable<ReturnType<typeof spawn>['stdout']>;
  readonly stderr: NonNullable<ReturnType<typeof spawn>['stderr']>;
};

/** Resolves with the output at the end. @throws Error with the text of standard error. */
async function finished(child: Child): Promise<string> {
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`the load ended with code ${code}: ${stderr}`);
  return stdout;
}

async function firstLine(child: Child): Promise<void> {
  await new Promise<void>((resolve) =>
    createInterface({ input: child.stdout }).once('line', () => resolve()),
  );
}

function placeOf({ url }: Endpoint): { readonly host: string; readonly pathname: string } {
  const { host, pathname } = new URL(url);
  return { host, pathname: pathname === '/' ? '' : pathname };
}

/** A contender that refuses is faster than one that answers. */
function requireSuccess({ name }: Endpoint, { requests, statuses, errors, lastError }: PacedFindings): void {
  if (errors === 0 && statuses['200'] === requests) return;
  throw new Error(`${name}: not every request succeeded: ${JSON.stringify({ statuses, errors, lastError })}`);
}
