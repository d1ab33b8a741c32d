import { request } from 'undici';
import type { RunningOperator } from './running-operator.ts';
import { until } from './until.ts';

export interface HealthAnswer {
  readonly status: number;
  readonly text: string;
}

/** What this operator answers, e.g. to `/readyz?verbose`. */
export async function healthOf(operator: RunningOperator, path: string): Promise<HealthAnswer> {
  const port = await listeningPort(operator, 'health');
  const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`);
  return { status: statusCode, text: await body.text() };
}

/** The port that its log names. */
export async function listeningPort(
  operator: RunningOperator,
  purpose: 'health' | 'metrics',
): Promise<number> {
  return await until(`the address for ${purpose}`, async () => {
    const lines = (await operator.log()).split('\n').filter((line) => line.includes('"msg":"listening"'));
    return lines.map((line) => JSON.parse(line)).find((line) => line.purpose === purpose)?.port as number;
  });
}
