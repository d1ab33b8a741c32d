import { request } from 'undici';
import type { RunningOperator } from './running-operator.ts';
import { until } from './until.ts';

/** Its log names the ports. */
type Logging = Pick<RunningOperator, 'wholeLog'>;

export interface HealthAnswer {
  readonly status: number;
  readonly text: string;
}

/** Asks this operator, e.g. for `/readyz?verbose`. */
export async function healthOf(operator: Logging, path: string): Promise<HealthAnswer> {
  return await ask(operator, 'health', path);
}

/** The text that `/metrics` of this operator answers with. */
export async function metricsOf(operator: Logging): Promise<string> {
  const { status, text } = await ask(operator, 'metrics', '/metrics');
  if (status !== 200) throw new Error(`/metrics answered ${status}: ${text}`);
  return text;
}

/** The value of one series, e.g. `latchkey_leader` or `latchkey_x_total{kind="A"}`; 0 when there is none yet. */
export async function metricOf(operator: Logging, series: string): Promise<number> {
  const line = (await metricsOf(operator))
    .split('\n')
    .find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

/** A log gets long, and what is asked again and again must not read it each time. */
const knownPorts = new WeakMap<Logging, Map<string, number>>();

/** The port that its log names. */
export async function listeningPort(operator: Logging, purpose: 'health' | 'metrics'): Promise<number> {
  const ports = knownPorts.get(operator) ?? new Map<string, number>();
  knownPorts.set(operator, ports);
  const port = ports.get(purpose) ?? (await loggedPort(operator, purpose));
  ports.set(purpose, port);
  return port;
}

async function loggedPort(operator: Logging, purpose: 'health' | 'metrics'): Promise<number> {
  return await until(`the address for ${purpose}`, async () => {
    const lines = (await operator.wholeLog())
      .split('\n')
      .filter((line) => line.includes('"msg":"listening"'));
    return lines.map((line) => JSON.parse(line)).find((line) => line.purpose === purpose)?.port as number;
  });
}

async function ask(operator: Logging, purpose: 'health' | 'metrics', path: string): Promise<HealthAnswer> {
  const port = await listeningPort(operator, purpose);
  const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`);
  return { status: statusCode, text: await body.text() };
}
