import type { GatewaySettings } from '../../settings/gateway.ts';
import { GatewayServer, type SharedServerOptions } from '../server/server.ts';
import { Page } from './page.ts';

export interface PageServerOptions extends SharedServerOptions {
  readonly settings: GatewaySettings;
}

/** No connection of the page carries a credential, so none of them keeps out the clients of the gateway. */
const maxConnections = 512;
/** Of one address, unless the gateway is told not to count by address: it must not keep all others off the page. */
const maxPerAddress = 64;

/** The page on a port of its own: targets share the origin of the gateway, and what they answer must have no part in it. */
export function createPageServer({ settings, ...options }: PageServerOptions): GatewayServer | undefined {
  if (settings.pageURL === undefined) return undefined;
  const page = new Page(settings);
  return new GatewayServer({
    ...options,
    address: settings.pageAddress,
    purpose: 'the page',
    limits: {
      ...options.limits,
      connections: maxConnections,
      strangersPerAddress: Math.min(options.limits.strangersPerAddress, maxPerAddress),
    },
    onRequest: page.answer,
  });
}
