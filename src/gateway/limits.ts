import type { GatewaySettings } from '../settings/gateway.ts';
import type { HeldBytesLimits } from './endpoints/shared/held-bytes.ts';
import type { ServerLimits } from './server/server.ts';

/** How long a request may wait for a connection to its target, and before that for its turn to ask whether its user may enter. */
const maxWaitMs = 10_000;

/**
 * Limits that are enough for every client of Kubernetes. An idle connection stays longer than clients and load balancers keep one: Go 90
 * seconds, nginx and AWS one minute, Google ten. Otherwise they now and then send a request into a connection that is just closed.
 */
const heads = { headerBytes: 16_384, headerFields: 100, urlBytes: 8_192, headMs: 10_000, idleMs: 620_000 };

/** Of each replica, for when keys were used last. Each write costs the API server as much as seven reads. */
export const activityWritesPerSecond = 20;

/** Of connections at once from one address that have carried no live credential: a roll-out of all clients behind one needs as many. */
const fewestStrangers = 1_800;
/** Of credentials that one user may make through the gateway. */
const fewestCredentials = 100;
/** Of short requests of one user at once, to all targets together. */
const fewestRequests = 384;

/** Of the connections of clients. No limit by address on refused requests means none on connections: the address hides many clients. */
export function serverLimits({
  maxConnections: connections,
  missesPerAddress,
}: Pick<GatewaySettings, 'maxConnections' | 'missesPerAddress'>): ServerLimits {
  const strangersPerAddress = missesPerAddress === 0 ? 0 : Math.max(fewestStrangers, 3 * missesPerAddress);
  return { ...heads, connections, strangersPerAddress, strangerGraceMs: 2_000 };
}

/** Of credentials that one user may make through the gateway; undefined: any number. A thief of a key can make no more. */
export const credentialsPerUser = ({
  maxObjectsPerOwner: objects,
}: Pick<GatewaySettings, 'maxObjectsPerOwner'>): number | undefined =>
  objects === 0 ? undefined : Math.min(objects, Math.max(fewestCredentials, Math.ceil(objects / 10)));

/** Of the connections to one target, and of the requests that wait for one. */
export function upstreamLimits({
  upstreamConnections: connections,
}: Pick<GatewaySettings, 'upstreamConnections'>) {
  return { connections, longConnections: 8 * connections, maxWaiting: 4 * connections, maxWaitMs };
}

/**
 * Of memory for requests that are answered here, bytes. With one credential the page asks for three lists of everyone at once. The other
 * credentials of its user have room for three texts of a megabyte even then: enough to disable it, or to delete it.
 */
export const heldBytesLimits: HeldBytesLimits = {
  ...{ ofUser: 48 * 2 ** 20, ofCredential: 36 * 2 ** 20 },
  ofAll: 144 * 2 ** 20,
};

/** Of source addresses whose refused credentials are counted. */
export const maxMissAddresses = 20_000;

/** Of requests at once. `long`: watches and the like. */
export function requestLimits({ upstreamConnections }: Pick<GatewaySettings, 'upstreamConnections'>) {
  const short = Math.max(fewestRequests, Math.ceil(1.5 * upstreamConnections));
  const ofUser = { short, long: 5 * short };
  return { ofUser, ofCredential: { short: Math.ceil(short / 4), long: Math.ceil(ofUser.long / 4) } };
}
