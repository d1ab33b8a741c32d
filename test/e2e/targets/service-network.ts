import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import tls, { type ConnectionOptions } from 'node:tls';

/** JSON: local ports by the names of Services. */
const variable = 'TEST_SERVICES';

/**
 * The environment of a process that finds Services by these names, and on their port 443 what listens on a local port. Here
 * are neither the DNS of a Kubernetes cluster nor its network, so the process loads this file first.
 */
export const withServices = (ports: Readonly<Record<string, number>>): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${import.meta.url}`,
  [variable]: JSON.stringify(ports),
});

function replaceNetwork(ports: ReadonlyMap<string, number>): void {
  const { lookup } = dns;
  const { connect } = tls;
  Object.assign(dns, {
    lookup: async (name: string, options: object) =>
      ports.has(name) ? [{ address: '127.0.0.1', family: 4 }] : await lookup(name, options),
  });
  Object.assign(tls, {
    connect: (options: ConnectionOptions) => {
      const port = options.port === 443 ? ports.get(options.host ?? '') : undefined;
      return connect(port === undefined ? options : { ...options, port });
    },
  });
  syncBuiltinESMExports();
}

const given = process.env[variable];
if (given !== undefined) replaceNetwork(new Map(Object.entries(JSON.parse(given) as object)));
