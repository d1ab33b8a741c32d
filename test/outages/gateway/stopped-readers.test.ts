import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { copyAtOnce } from '../../../lab/kubelet/copies.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { sessionProtocols } from '../../../lab/kubelet/session-protocols.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { openClient, upgradeText, webSocketHeaders } from '../../builders/upgrades.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder } from '../../e2e/gateway/known-holder.ts';
import { sessionRights } from '../../e2e/gateway/session-world.ts';
import { peakFromNow, residentMiB } from './process-figures.ts';

const world = await gatewayWorld();
const { admin, gateway, guard, plane } = world;
const pod = await makePod(admin, await startKubelet(guard, plane));
const clients: ReturnType<typeof openClient>[] = [];
afterAll(() => {
  for (const { socket } of clients) socket.destroy();
});

/** Opens sessions that bring zeros without end; `take`: what is done with each connection. */
async function endlessOf(user: string, take: (socket: Socket) => unknown) {
  await giveRight(admin, user, sessionRights);
  const { key } = await knownHolder(world, { user });
  const query = 'container=main&stdout=true&command=cat&command=/dev/zero';
  const line = `GET /kubernetes/management/api/v1/namespaces/default/pods/${pod}/exec?${query}`;
  const headers = [`Authorization: Bearer ${key}`, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'];
  return () => {
    const client = openClient(gateway.port, upgradeText([...headers, ...webSocketHeaders], { line }), true);
    clients.push(client);
    client.socket.once('data', () => take(client.socket.removeAllListeners('data')));
    return client;
  };
}

it('readers who stand still cost half a megabyte each, while gigabytes wait for them and somebody else reads', async () => {
  const standing = await endlessOf(world.name('still'), (socket) => socket.pause());
  const reading = await endlessOf(world.name('reads'), (socket) => socket.resume());
  const { socket } = reading();
  const isPassed = (megabytes: number) => async () => socket.bytesRead > megabytes * 1e6;
  await until('what a busy gateway takes for itself', isPassed(100));
  const before = residentMiB(gateway.process.pid);

  const count = 20;
  const stopped = Array.from({ length: count }, standing);
  await until('all sessions', async () => stopped.every((one) => one.socket.isPaused()));
  await until('what the other one reads', isPassed(400));

  // 576 KiB each, two TLS connections, and what the collector has not looked at yet.
  expect(residentMiB(gateway.process.pid) - before).toBeLessThan(count + 40);
  expect(stopped.some((one) => one.socket.destroyed)).toBe(false);
  for (const { socket: open } of clients) open.destroy();
});

it.each(sessionProtocols.map(([protocol, env]) => ({ protocol, env, count: protocol === 'SPDY' ? 20 : 50 })))(
  '$count copies by kubectl at once over $protocol are whole, into a pod and out of it, while one more reader stands still, and cost a megabyte each',
  async ({ protocol, env, count }) => {
    const user = world.name('copies');
    await giveRight(admin, user, sessionRights);
    const { key } = await knownHolder(world, { user });
    // With 30 MB it takes a minute: `npm run bench -- copies` does that, beside the API server itself.
    const content = randomBytes(4e6);
    const file = path.join(guard.folder, `file-over-${protocol}`);
    await writeFile(file, content);
    const kubeconfig = await gateway.kubeconfig(key);
    const before = residentMiB(gateway.process.pid);
    const peak = peakFromNow(gateway.process.pid);

    const { kubectl } = plane.binaries;
    const order = { name: `copies-over-${protocol}`, kubectl, kubeconfig, pod, file, count, env };
    const checksums = await copyAtOnce(guard, order);
    const expected = createHash('sha256').update(content).digest('hex');
    expect(checksums).toEqual(Array.from({ length: count + 1 }, () => expected));
    expect(peak() - before).toBeLessThan(count + 40);
  },
);
