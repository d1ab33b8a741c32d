import { connect, type TLSSocket } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder } from '../../e2e/gateway/known-holder.ts';

/** A tenth of the default: with it ten times as many connections say the same. */
const waiting = 100;
const world = await gatewayWorld({ LATCHKEY_UPSTREAM_CONNECTIONS: String(waiting / 4) });
const { gateway } = world;
const sockets: TLSSocket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** More than the line of requests and its connections hold, also while a third of them read their answers. */
const connections = 1.5 * waiting;
const seen = new Map<number, number>();
let names = 0;

/** Each answer is followed by a question about another cluster. Some ask for a watch, of which more may be under way. */
function askForEver(socket: TLSSocket, key: string): void {
  const ask = () => {
    names += 1;
    const path = `/kubernetes/cluster/flood-${names}/api/v1/pods?watch=true`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  };
  socket.on('data', (chunk: Buffer) => {
    const [, status] = /^HTTP\/1\.1 (\d+) /.exec(chunk.toString('latin1')) ?? [];
    if (status === undefined) return;
    seen.set(Number(status), (seen.get(Number(status)) ?? 0) + 1);
    ask();
  });
  ask();
}

/** Asks as soon as it is there: the gateway gives up connections that say nothing. */
async function dialAndAsk(key: string): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host: '127.0.0.1', port: gateway.port, ca: gateway.ca });
  socket.once('secureConnect', resolve).once('error', reject);
  sockets.push(socket);
  await promise;
  socket.on('error', () => undefined);
  askForEver(socket, key);
  return socket;
}

/** The platform has to be asked about each of them. */
async function enter(key: string, cluster: string): Promise<number> {
  const { statusCode, body } = await gateway.send(`/kubernetes/cluster/${cluster}/version`, { key });
  await body.dump();
  return statusCode;
}

it('users who flood the gateway with questions about targets keep no one else out', async () => {
  const keys = await Promise.all(
    [1, 2, 3, 4].map(async () => (await knownHolder(world, { user: world.name('mallory') })).key),
  );
  const { key } = await knownHolder(world, { user: world.name('alice') });
  expect(await enter(key, 'before')).toBe(403);
  const senders = Array.from({ length: connections }, (_, index) => keys[index % keys.length] ?? '');
  const opened = await concurrently(senders, dialAndAsk, 64);
  await until('the flood is there', async () => (seen.get(503) ?? 0) > connections);
  for (let turn = 0; turn < 12; turn += 1) expect(await enter(key, `quiet-${turn}`)).toBe(403);
  expect(seen.get(403)).toBeGreaterThan(0);
  expect(opened.filter(({ destroyed }) => destroyed)).toHaveLength(0);
});
