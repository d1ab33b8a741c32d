import { request } from 'undici';
import type { RunningOperator } from './running-operator.ts';
import { until } from './until.ts';

/** The text that `/metrics` of this operator answers with. */
export async function metricsOf(operator: RunningOperator): Promise<string> {
  const port = await until('the address of the metrics', async () => {
    const lines = (await operator.log()).split('\n').filter((line) => line.includes('"purpose":"metrics"'));
    return lines.map((line) => JSON.parse(line).port as number).at(-1);
  });
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/metrics`);
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`/metrics answered ${statusCode}: ${text}`);
  return text;
}

/** The value of one series, e.g. `latchkey_leader` or `latchkey_x_total{kind="A"}`; 0 when there is none yet. */
export async function metricOf(operator: RunningOperator, series: string): Promise<number> {
  const line = (await metricsOf(operator))
    .split('\n')
    .find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}
