import type { GatewaySettings } from '../settings/gateway.ts';
import type { ServerLimits } from './server/server.ts';

/** How long a request may wait for a connection to its target, and before that for its turn to ask whether its user may enter. */
const maxWaitMs = 10_000;

/** Limits that are enough for every client of Kubernetes. */
const heads = { headerBytes: 16_384, headerFields: 100, urlBytes: 8_192, headMs: 10_000 };

export function serverLimits(settings: GatewaySettings): ServerLimits {
  const { idleTimeoutMs: idleMs, maxConnections: connections, strangersPerAddress } = settings;
  return { ...heads, idleMs, connections, strangersPerAddress, strangerGraceMs: 2_000 };
}

/** Of the connections to one target, and of the requests that wait for one. */
export function upstreamLimits({
  upstreamConnections: connections,
}: Pick<GatewaySettings, 'upstreamConnections'>) {
  return { connections, longConnections: 8 * connections, maxWaiting: 4 * connections, maxWaitMs };
}

/** Of memory for requests that are answered here, bytes. */
export const heldBytesLimits = { ofUser: 48 * 2 ** 20, ofAll: 144 * 2 ** 20 };

/** Of source addresses whose refused credentials are counted. */
export const maxMissAddresses = 20_000;

/** Of requests at once. `long`: watches and the like. */
export function requestLimits({ requestsPerUser: short }: Pick<GatewaySettings, 'requestsPerUser'>) {
  const ofUser = { short, long: 5 * short };
  return { ofUser, ofCredential: { short: Math.ceil(short / 4), long: Math.ceil(ofUser.long / 4) } };
}
