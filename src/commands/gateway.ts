import { serviceAccounts, systemNamespace } from '../api/names.ts';
import { exitCodes } from '../error-catalogue.ts';
import { LatchkeyError } from '../errors.ts';
import { questionsAtOnce } from '../gateway/gate/questions.ts';
import { Gateway } from '../gateway/gateway.ts';
import { systemClock as clock } from '../kube/clock.ts';
import type { ListenAddress } from '../listening.ts';
import { Host } from '../process/host.ts';
import { untilInstalled } from '../process/installation-check.ts';
import { allGatewaySettings, type GatewaySettings } from '../settings/gateway.ts';
import { readSettings } from '../settings/read.ts';
import { GatewayMetrics } from '../telemetry/metrics/gateway.ts';
import { openAuditLog } from './audit-log.ts';
import type { Command } from './command.ts';

/** For what follows the grace: open sockets, the last writes. */
const endMs = 5_000;

/** Runs the gateway until the signal aborts. */
export const run: Command = async ({ environment, signal }) => {
  const settings = readSettings(allGatewaySettings, environment);
  checkPlainHTTP(settings);
  checkProxies(settings);
  checkPage(settings);
  const graceMs = settings.shutdownDelayMs + settings.shutdownGraceMs + endMs;
  const host = new Host({ component: 'gateway', environment, settings, graceMs });
  const client = host.connect({ connections: 16 });
  // Nothing that a user can send more of than the gateway lets through may wait in one line with these.
  const own = host.connect({ connections: 16 + questionsAtOnce.staying + questionsAtOnce.following });
  const audit = openAuditLog(host, settings);
  const as = (name: string) => own.as({ serviceAccount: { namespace: systemNamespace, name } });
  const gateway = new Gateway({
    settings,
    clock,
    random: Math.random,
    log: host.log,
    metrics: createMetrics(host),
    audit: audit.sink,
    client,
    entering: host.connect({ connections: questionsAtOnce.entering }),
    staying: own,
    reader: as(serviceAccounts.reader),
    activity: as(serviceAccounts.activity),
    identity: host.authenticate(),
  });
  const self = { component: 'gateway', account: serviceAccounts.gateway };
  const work = async (stop: AbortSignal) => {
    await untilInstalled(client, self, { clock, random: Math.random, log: host.log }, stop);
    await gateway.run(stop);
    await audit.close();
  };
  await host.run({ readiness: gateway.readiness, run: work }, signal);
  return exitCodes.success;
};

/** Counters of alerts exist with 0 from the start, or the first one would be no increase. */
function createMetrics({ registry }: Host): GatewayMetrics {
  const metrics = new GatewayMetrics(registry);
  metrics.refusals.inc({ error: 'ERR_INTERNAL' }, 0);
  return metrics;
}

/** Keys must never cross a network unencrypted, not even by mistake. */
export function checkPlainHTTP({ tlsFolder, listenAddress, pageURL, pageAddress }: GatewaySettings): void {
  if (tlsFolder !== undefined) return;
  const wrong = isLoopback(listenAddress)
    ? pageURL !== undefined && !isLoopback(pageAddress) && ['LATCHKEY_PAGE_ADDRESS', '127.0.0.1:8444']
    : ['LATCHKEY_LISTEN_ADDRESS', '127.0.0.1:8080'];
  if (wrong === false) return;
  const [name, example] = wrong;
  const problems = `  LATCHKEY_TLS_FOLDER=none needs a ${name} on loopback: write ${example}, or give a certificate`;
  throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems });
}

const isLoopback = ({ host = '' }: ListenAddress): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Without a trusted proxy there is no connection on which the header could come. */
export function checkProxies({ proxyProtocol, trustedProxies }: GatewaySettings): void {
  if (proxyProtocol === 'never' || trustedProxies.length > 0) return;
  const problems =
    '  LATCHKEY_PROXY_PROTOCOL needs LATCHKEY_TRUSTED_PROXIES: write the addresses of your load balancer, as 10.0.0.0/8';
  throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems });
}

/** On the origin of the gateway, an answer of a target could act as the page. */
function checkPage({ pageURL, baseURL }: GatewaySettings): void {
  if (pageURL !== new URL(baseURL).origin) return;
  const problems =
    '  LATCHKEY_PAGE_URL is the origin of LATCHKEY_BASE_URL: give the page another host or port';
  throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems });
}
