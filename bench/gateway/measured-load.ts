import { usageOf } from '../measure/process-usage.ts';
import type { Sample } from '../measure/rounds.ts';
import type { Endpoint } from './endpoints.ts';
import type { LoadFindings } from './load.ts';

/** How often the memory of the process under test is read, milliseconds. */
const sampleMs = 100;

/** The columns that every load has. */
export const loadMeasures = [
  { key: 'rate', title: 'requests a second' },
  { key: 'p50', title: 'p50 ms' },
  { key: 'p99', title: 'p99 ms' },
  { key: 'cpu', title: 'CPU, µs a request' },
  { key: 'apiServerCpu', title: 'CPU of the API server, µs a request' },
] as const;

/** Measures the cost of a load to the process under test and the API server behind it, which has no figure of its own. */
export async function measureLoad(
  { pid }: Endpoint,
  apiServer: number,
  run: () => Promise<LoadFindings>,
): Promise<Sample> {
  const before = await cpuOf(pid, apiServer);
  const memory = new ResidentPeak(pid);
  const { requests, seconds, bytes, p50, p99 } = await run().finally(() => memory.stop());
  const resident = await memory.peak();
  const after = await cpuOf(pid, apiServer);
  const each = (seconds: number): number => (seconds * 1e6) / requests;
  return {
    rate: requests / seconds,
    megabytes: bytes / seconds / 1e6,
    p50,
    p99,
    ...(pid !== apiServer && { cpu: each(after.own - before.own), resident }),
    apiServerCpu: each(after.apiServer - before.apiServer),
  };
}

async function cpuOf(pid: number, apiServer: number): Promise<{ own: number; apiServer: number }> {
  const [own, behind] = await Promise.all([usageOf(pid), usageOf(apiServer)]);
  return { own: own.cpuSeconds, apiServer: behind.cpuSeconds };
}

/** The most memory that a process holds at once from now on, in MiB. */
class ResidentPeak {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #peak = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => {
      this.#read().catch(() => undefined);
    }, sampleMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async peak(): Promise<number> {
    await this.#read();
    return this.#peak;
  }

  async #read(): Promise<void> {
    const { residentMebibytes } = await usageOf(this.#pid);
    this.#peak = Math.max(this.#peak, residentMebibytes);
  }
}
