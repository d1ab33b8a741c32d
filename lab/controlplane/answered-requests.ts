import type { ControlPlaneAccess } from './access.ts';

export interface AskedAbout {
  /** Plurals. */
  readonly resources: readonly string[];
  /** As the API server says them: `LIST`, `DELETE`, …. Absent: all but `WATCH`. */
  readonly verbs?: readonly string[];
}

/** How many such requests an API server has answered since it was started. */
export async function answeredRequests(
  plane: Pick<ControlPlaneAccess, 'kubectl'>,
  { resources, verbs }: AskedAbout,
): Promise<number> {
  const { stdout, stderr, exitCode } = await plane.kubectl(['get', '--raw', '/metrics']);
  if (exitCode !== 0) throw new Error(`the API server tells no metrics: ${stderr}`);
  const isMeant = (verb: string) => (verbs === undefined ? verb !== 'WATCH' : verbs.includes(verb));
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .filter((line) => resources.includes(labelOf(line, 'resource')) && isMeant(labelOf(line, 'verb')))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const labelOf = (line: string, name: string): string =>
  new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? '';
