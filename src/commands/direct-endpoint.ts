import { readFileSync } from 'node:fs';
import { exitCodes } from '../error-catalogue.ts';
import { LatchkeyError } from '../errors.ts';
import { DirectEndpoint } from '../gateway/direct-endpoint/direct-endpoint.ts';
import { createKubeClient } from '../kube/client/client.ts';
import { type ClientIdentity, makeIdentity } from '../kube/client/client-identity.ts';
import { systemClock as clock } from '../kube/clock.ts';
import { Host } from '../process/host.ts';
import { allDirectEndpointSettings, type DirectEndpointSettings } from '../settings/direct-endpoint.ts';
import { readSettings } from '../settings/read.ts';
import { DirectEndpointMetrics } from '../telemetry/metrics/direct-endpoint.ts';
import { GatewayMetrics } from '../telemetry/metrics/gateway.ts';
import { version } from '../version.ts';
import { openAuditLog } from './audit-log.ts';
import type { Command } from './command.ts';
import { checkPlainHTTP, checkProxies } from './gateway.ts';

/** For what follows the grace: open sockets. */
const endMs = 5_000;

/** Runs the direct endpoint of a cluster until the signal aborts. */
export const run: Command = async ({ environment, signal }) => {
  const settings = readSettings(allDirectEndpointSettings, environment, {});
  checkPlainHTTP(settings);
  checkProxies(settings);
  checkWebhook(settings);
  const graceMs = settings.shutdownDelayMs + settings.shutdownGraceMs + endMs;
  const host = new Host({ component: 'direct-endpoint', environment, settings, graceMs });
  const platform = createKubeClient({
    kubeConfig: { load: () => agentIdentity(settings) },
    userAgent: `latchkey-direct-endpoint/${version}`,
    log: host.log,
    watchConnections: 2,
  });
  const audit = openAuditLog(host, settings);
  const endpoint = new DirectEndpoint({
    settings,
    clock,
    random: Math.random,
    log: host.log,
    metrics: new GatewayMetrics(host.registry),
    endpointMetrics: new DirectEndpointMetrics(host.registry),
    audit: audit.sink,
    platform,
    client: host.connect({ connections: 4 }),
    identity: host.authenticate(),
    webhookClientCA: readAuthority(settings.webhookClientCAFile),
  });
  const work = async (stop: AbortSignal) => {
    await endpoint.run(stop);
    await platform.close();
    await audit.close();
  };
  await host.run({ readiness: endpoint.readiness, run: work }, signal);
  return exitCodes.success;
};

/** Only an API server may ask, and it proves itself by a certificate. */
function checkWebhook({ webhookClientCAFile, plainHTTP }: DirectEndpointSettings): void {
  if (webhookClientCAFile === 'none' || plainHTTP === 'never') return;
  const problems = '  LATCHKEY_ENDPOINT_WEBHOOK_CLIENT_CA_FILE needs TLS: remove LATCHKEY_PLAIN_HTTP';
  throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems });
}

/** Read again and again: keys are renewed under a running process. */
function agentIdentity({ baseURL, agentKeyFile, platformCAFile }: DirectEndpointSettings): ClientIdentity {
  const key = readText(agentKeyFile).trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw unusable(agentKeyFile, 'it holds no key');
  const ca = readAuthority(platformCAFile);
  const tls = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
  return makeIdentity(new URL(`${baseURL}/kubernetes/management`), tls, ['authorization', `Bearer ${key}`]);
}

/** PEM; undefined for `none`. */
export function readAuthority(file: string): string | undefined {
  const ca = file === 'none' ? undefined : readText(file);
  // Node takes an empty authority for none, and would trust every public one.
  if (ca?.includes('-----BEGIN CERTIFICATE-----') === false) throw unusable(file, 'it holds no certificate');
  return ca;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unusable(file, (error as NodeJS.ErrnoException).code ?? 'it cannot be read');
  }
}

/** For the log: without the key it is as if the platform were away. */
const unusable = (file: string, cause: string): Error => new Error(`cannot use ${file}: ${cause}`);
