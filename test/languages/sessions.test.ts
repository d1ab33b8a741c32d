import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runToEnd } from '../../lab/controlplane/bounded.ts';
import { base64, writeKubeconfig } from '../../lab/controlplane/kubeconfig.ts';
import { startTLSProxy } from '../../lab/gateway/tls-proxy.ts';
import { until } from '../../lab/operator/until.ts';
import { nodeKinds, sessionWorld } from '../e2e/gateway/session-world.ts';
import { languagePackages } from './packages.ts';

const packages = await languagePackages((text) => console.error(text));
const { world, paths, key, kubelet, podIn } = await sessionWorld();
const { gateway, guard } = world;
const page = createServer((_, response) => response.end('a page'));
page.listen(0, '127.0.0.1');
afterAll(() => void page.close());

/** A Java that starts soon and does not try to be fast later. */
const shortLived = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const here = (file: string): string => path.join(import.meta.dirname, file);
const java = (file: string) =>
  ['java', ...shortLived, '-cp', packages.classPath, here(`java/${file}`)] as const;
const clients = {
  python: [packages.python, here('sessions.py')],
  fabric8: java('Sessions.java'),
} as const;

const rows = (['space', 'virtual cluster'] as const).flatMap((target) =>
  nodeKinds.map((node) => ({ target, node, pod: podIn(target, node) })),
);

/** The outcomes of all rows, in their order. A program takes seconds to start, so it does all of them. */
async function outcomes(name: keyof typeof clients): Promise<readonly unknown[]> {
  const [command, ...program] = clients[name];
  const places: string[] = [];
  for (const { target, pod } of rows) places.push(await gateway.kubeconfig(key, paths[target]), pod);
  const args = [...program, String((page.address() as AddressInfo).port), ...places];
  const output = await runToEnd(guard, { name, command, args, seconds: 200 });
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  if (lines.length !== rows.length) throw new Error(`${name} printed no line for some pod:\n${output}`);
  return lines.map((line) => JSON.parse(line));
}

const expected = {
  exec: ['out\n', 'problem\n', 3],
  input: 'typed',
  page: 'a page',
  log: 'a line of the log\n',
  watch: ['ADDED', 'MODIFIED', 'DELETED'],
};

describe.each(Object.keys(clients) as (keyof typeof clients)[])('the client %s', async (name) => {
  const found = await outcomes(name);

  it.each(rows.map((row, index) => ({ ...row, outcome: found[index] })))(
    'runs commands, forwards a port, reads a log and watches in the target $target, on a node that $node',
    ({ outcome }) => expect(outcome).toEqual(expected),
  );
});

it('the pods had the sessions of both clients', async () => {
  const count = Object.keys(clients).length;
  const expectedOf = rows.flatMap(({ pod }) =>
    Array.from({ length: count }, () => [`${pod} exec`, `${pod} exec`, `${pod} portForward`]).flat(),
  );
  const found = (await kubelet.sessions()).map(({ pod, kind }) => `${pod} ${kind}`);
  expect(found.sort()).toEqual(expectedOf.sort());
});

it('fabric8 watched over a websocket', async () => {
  const answer = await fetch(`http://127.0.0.1:${await gateway.listeningPort('metrics')}/metrics`);
  const lines = (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith('latchkey_gateway_requests_total{'));
  const watches = lines.filter((line) => line.includes('verb="watch"') && line.includes('code="101"'));
  expect(watches.map((line) => Number(line.split(' ').at(-1)))).toEqual([nodeKinds.length, nodeKinds.length]);
});

it('fabric8 asks for a websocket to watch its own access keys, gets an ordinary answer, and goes on without one', async () => {
  const name = world.name('fabric8');
  const behind = { name: world.name('front'), port: gateway.port, ca: gateway.ca };
  const proxy = await startTLSProxy(guard, behind);
  const server = `${proxy.url}/kubernetes/${paths.platform}`;
  const place = { name: behind.name, server, caData: base64(proxy.ca), folder: guard.folder };
  const [command, ...program] = java('OwnKeys.java');
  const args = [...program, await writeKubeconfig(place, 'holder', { token: key }), name];
  const output = await runToEnd(guard, { name, command, args, seconds: 120 });
  const events = JSON.parse(output.split('\n').find((line) => line.startsWith('[')) ?? output) as string[];
  // The operator changes it, too: that it is ready.
  expect(events.filter((event) => event !== 'MODIFIED')).toEqual(['ADDED', 'MODIFIED disabled', 'DELETED']);
  await until('the line about the websocket', async () => (await proxy.upgrades()).length > 0);
  expect(await proxy.upgrades()).toEqual(['GET 200 websocket']);
});
