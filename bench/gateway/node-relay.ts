import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../../lab/controlplane/ports.ts';
import { shippedNodeOptions } from '../../lab/operator/node-options.ts';
import { type Endpoint, identityHeaders, startServer } from './endpoints.ts';
import type { GatewayPlatform } from './gateway-platform.ts';

/** `node:https` and `pipe` without any duty: what a gateway written for Node cannot get below. */
export async function startNodeRelay(platform: GatewayPlatform): Promise<Endpoint> {
  const { guard, plane, certificate } = platform;
  const folder = path.join(guard.folder, 'node-relay');
  await mkdir(folder);
  const [authority, headers] = ['ca.crt', 'headers.json'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  await writeFile(authority, Buffer.from(plane.caData, 'base64'));
  await writeFile(headers, JSON.stringify(await identityHeaders(platform)), { mode: 0o600 });
  const listen = `127.0.0.1:${await freePort()}`;
  const { cert, key, ca } = certificate;
  const given = { listen, cert, key, server: plane.server, authority, headers };
  const args = [
    path.join(import.meta.dirname, '../peers/node-relay/relay.ts'),
    ...Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]),
  ];
  const env = { NODE_ENV: 'production', NODE_OPTIONS: shippedNodeOptions('gateway') };
  const spec = { name: 'node-relay', command: process.execPath, args, env };
  const { pid } = await startServer(guard, spec, { url: `https://${listen}/ready`, ca });
  const url = `https://${listen}/kubernetes/management`;
  return { name: '`node:https` and `pipe`, without duties', url, pid, headers: () => ({}) };
}
