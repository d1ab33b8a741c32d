import type { Answer, Handler } from './telemetry-server.ts';

/** `undefined`: healthy. Text: what is wrong, for people, without secrets. It must answer at once. */
export type HealthCheck = () => string | undefined;

/** Checks by name; names stand in paths, so they are lower-case words with hyphens. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

export interface HealthEndpoints {
  /** A failure here makes the kubelet restart the process. */
  readonly livez: HealthChecks;
  /** A failure here takes the process out of its Services. */
  readonly readyz: HealthChecks;
}

/**
 * `/livez` and `/readyz`: 200 when every check passes, else 503 with the list of checks; `?verbose` lists them always;
 * `/readyz/<name>` runs one check.
 */
export function healthHandler(endpoints: HealthEndpoints): Handler {
  return (url) => {
    const [, endpoint = '', name, ...rest] = url.pathname.split('/');
    if ((endpoint !== 'livez' && endpoint !== 'readyz') || rest.length > 0) return undefined;
    const checks = selected(endpoints[endpoint], name);
    return checks === undefined ? undefined : report(endpoint, checks, url.searchParams.has('verbose'));
  };
}

function selected(checks: HealthChecks, name: string | undefined): HealthChecks | undefined {
  if (name === undefined || name === '') return checks;
  const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
  return check === undefined ? undefined : { [name]: check };
}

function report(endpoint: string, checks: HealthChecks, verbose: boolean): Answer {
  const results = Object.entries(checks).map(([name, check]) => ({ name, problem: runCheck(check) }));
  const healthy = results.every(({ problem }) => problem === undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  if (!healthy) return { status: 503, body: `${lines.join('\n')}\n${endpoint} check failed\n` };
  return { status: 200, body: verbose ? `${lines.join('\n')}\n${endpoint} check passed\n` : 'ok\n' };
}

function runCheck(check: HealthCheck): string | undefined {
  try {
    return check();
  } catch {
    return 'the check itself failed';
  }
}
