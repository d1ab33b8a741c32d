import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';
import { openFileLimit, residentMiB } from './process-figures.ts';

const world = await gatewayWorld();
const { admin, plane, guard } = world;
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';

/** Each costs a handshake, and all have to be there before the first one has been idle for too long. The memory of one does not depend on how many there are. */
const connections = 800;
/** This process and the gateway each hold one end of every connection, and some hundred files besides. */
const files = connections + 500;
// Node raises the limit of a process to the hard one when it starts.
if (openFileLimit() < files)
  throw new Error(
    `this test needs ${files} open files in a process, and the hard limit is ${openFileLimit()} (ulimit -Hn)`,
  );
/** For requests that go on meanwhile. */
const spare = 20;
/** The memory that TLS and HTTP take. More would mean that something is kept for each connection. */
const maxKiBEach = 120;

const name = world.name('idle');
const gateway = await RunningGateway.start(plane, guard, {
  name,
  env: {
    LATCHKEY_MAX_CONNECTIONS: `${connections}`,
    // All of them come from this machine, and show no credential.
    LATCHKEY_UNAUTHENTICATED_REQUESTS_PER_ADDRESS: '0',
    LATCHKEY_SHUTDOWN_GRACE: '1s',
  },
});
afterAll(async () => void (await gateway.end()));

/** Has sent one request, got the answer, and keeps the connection. */
async function openIdle(): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: gateway.port, ca: gateway.ca });
  socket.write('GET /version HTTP/1.1\r\nHost: gateway\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  return socket.on('error', () => undefined);
}

it(`${connections} idle connections take little memory and disturb no one, and one more closes the oldest`, async () => {
  const { key, object } = await world.holder({ user: alice });
  await untilKnown(gateway, key);
  const watch = await gateway.send(`${maps}?watch=true`, { key });
  watch.body.on('error', () => undefined).resume();
  const before = residentMiB(gateway.process.pid);

  const sockets = await concurrently(Array.from({ length: connections - spare }), openIdle, 64);
  const each = ((residentMiB(gateway.process.pid) - before) * 1_024) / sockets.length;
  console.info(`${sockets.length} idle connections: ${each.toFixed(0)} KiB each`);
  expect(each).toBeLessThan(maxKiBEach);

  const { statusCode, body } = await gateway.send(maps, { key });
  await body.dump();
  expect(statusCode).toBe(200);
  await admin.patch(object, { spec: { disabled: true } });
  const cut = async () => watch.body.destroyed;
  expect(await timeUntil('the watch is cut', cut, { everyMs: 5 })).toBeLessThan(5_000);
  expect(sockets.filter(({ closed, destroyed }) => closed || destroyed)).toHaveLength(0);

  // One that would be too many is refused for as long as the oldest has not been there for two seconds.
  const last = await concurrently(
    Array.from({ length: spare }),
    async () => await until('a connection', openIdle),
    1,
  );
  const isClosed = ({ closed, destroyed }: TLSSocket) => closed || destroyed;
  await until('the oldest go', async () => sockets.slice(0, 100).some(isClosed));
  expect(last.filter(isClosed)).toHaveLength(0);
  expect(await gateway.end()).toBe(0);
  for (const socket of [...sockets, ...last]) socket.destroy();
});
