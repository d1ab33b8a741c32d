import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
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
  const settings = readSettings(allDirectEndpointSettings, environment);
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
    webhookClientCA: webhookClientCA(settings),
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
function checkWebhook({ webhookClientCAFile, tlsFolder }: DirectEndpointSettings): void {
  if (webhookClientCAFile === 'none' || tlsFolder !== undefined) return;
  const problems = '  LATCHKEY_ENDPOINT_WEBHOOK_CLIENT_CA_FILE needs TLS: remove LATCHKEY_TLS_FOLDER=none';
  throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems });
}

/** Read again and again: keys are renewed under a running process. */
function agentIdentity({ baseURL, agentFolder }: DirectEndpointSettings): ClientIdentity {
  const file = path.join(agentFolder, 'key');
  const key = readText(file).trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw unusable(file, 'it holds no key');
  const ca = readPlatformCA(agentFolder);
  const tls = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) };
  return makeIdentity(new URL(`${baseURL}/kubernetes/management`), tls, ['authorization', `Bearer ${key}`]);
}

/** The authority of the platform beside the key of the agent, as PEM. Undefined where there is no such file. */
export function readPlatformCA(agentFolder: string): string | undefined {
  const file = path.join(agentFolder, 'ca.crt');
  // A file that is there and cannot be read is no reason to trust every public authority.
  return statSync(file, { throwIfNoEntry: false }) === undefined ? undefined : readAuthority(file);
}

const webhookClientCA = ({ webhookClientCAFile: file }: DirectEndpointSettings): string | undefined =>
  file === 'none' ? undefined : readAuthority(file);

function readAuthority(file: string): string {
  const ca = readText(file);
  // Node takes an empty authority for none, and would trust every public one.
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw unusable(file, 'it holds no certificate');
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
