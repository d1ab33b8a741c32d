import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createKubeClient } from '../../kube/client/client.ts';
import { makeIdentity } from '../../kube/client/client-identity.ts';
import { systemClock as clock } from '../../kube/clock.ts';
import { statusReasons } from '../../kube/status.ts';
import { silentLogger } from '../../logger.ts';
import { errorAnswer } from '../server/error-answer.ts';
import { FollowedCredentials } from './followed-credentials.ts';
import { maxLineBytes } from './line-reader.ts';
import { StreamFollower } from './stream-follower.ts';

const hash = 'a'.repeat(64);
const other = 'b'.repeat(64);
const positions = { tokens: '5', keys: '5', locks: '5' };
const text = (number: number, type: string, object: object): string =>
  `${JSON.stringify({ type, number, object })}\n`;
const start = text(1, 'START', { cluster: 'edge', uid: 'u1' });
const add = (number: number, added: string): string =>
  text(number, 'ADD', {
    ...{ hash: added, uid: `uid-${added[0]}`, name: 'ci', user: 'ann', groups: [], scopes: [] },
    end: clock.now() + 3_600_000,
  });
const whole = start + add(2, hash) + text(3, 'SYNCED', { positions });

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A platform that answers each stream as the next of these says; the last one counts for all that follow. */
async function followedFrom(answers: readonly Answer[]) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(paths.length, answers.length - 1)];
    paths.push(request.url ?? '');
    answer?.(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/kubernetes/management`);
  const client = createKubeClient({
    kubeConfig: { load: () => makeIdentity(url, {}, ['authorization', 'Bearer agent']) },
    userAgent: 'test',
  });
  const followed = new FollowedCredentials({
    cluster: 'edge',
    clock,
    withTokenIDs: false,
    outageMs: 60_000,
    onChange: () => undefined,
  });
  // Whether the credential of the first stream is good when a stream begins.
  const begins: boolean[] = [];
  const stop = new AbortController();
  const log = silentLogger;
  vi.spyOn(followed, 'begin').mockImplementation(() => {
    begins.push(followed.find(hash) !== undefined);
    FollowedCredentials.prototype.begin.call(followed);
  });
  const follower = new StreamFollower({
    client,
    cluster: 'edge',
    followed,
    clock,
    random: () => 0,
    log,
  });
  const running = follower.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const untilGood = async (wanted: string) =>
    await vi.waitFor(() => expect(followed.find(wanted)).toBeDefined(), { timeout: 60_000, interval: 20 });
  return { followed, paths, begins, untilGood };
}

const open =
  (lines: string): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(lines);
  };
const cut =
  (lines: string): Answer =>
  (response) => {
    open(lines)(response, undefined as never);
    response.end();
  };
const refuse =
  (status: number): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    const reason = statusReasons[status];
    response.end(JSON.stringify({ kind: 'Status', code: status, reason }));
  };

const noCluster: Answer = (response) => {
  const { status, headers, body } = errorAnswer('ERR_TARGET_UNKNOWN', {});
  response.writeHead(status, headers as string[]);
  response.end(body);
};

it('asks for the stream of its cluster as the agent', async () => {
  const { paths, untilGood } = await followedFrom([open(whole)]);
  await untilGood(hash);
  expect(paths).toEqual([
    '/kubernetes/management/apis/management.platform.sh/v1/clusters/edge/livecredentials?watch=true',
  ]);
});

it('begins again after an end, and takes what the next stream says', async () => {
  const second = start + add(2, other) + text(3, 'SYNCED', { positions });
  const { followed, untilGood, begins } = await followedFrom([cut(whole), open(second)]);
  await untilGood(other);
  expect(followed.find(hash)).toBeUndefined();
  expect(begins).toEqual([false, true]);
});

it.each<[string, Answer]>([
  ['is cut inside a line', cut(start + add(2, other).slice(0, 80))],
  ['has a line that is no JSON', cut(`${start}{"type":"ADD",\n`)],
  ['has a line that is too long', cut(`${start}${'x'.repeat(maxLineBytes + 1)}`)],
  ['repeats a line', open(start + start)],
  ['is refused', refuse(401)],
  ['is not there', refuse(503)],
  ['is at a path that the platform does not have', refuse(404)],
])('keeps the former set where the next stream %s, and tries again', async (_, answer) => {
  const third = start + add(2, hash) + add(3, other) + text(4, 'SYNCED', { positions });
  const { begins, untilGood } = await followedFrom([cut(whole), answer, open(third)]);
  await untilGood(other);
  expect(begins).toEqual([false, true, true]);
});

it('has no good token any more where the gateway says that there is no such Cluster', async () => {
  const { followed, begins } = await followedFrom([cut(whole), noCluster]);
  await vi.waitFor(() => expect(begins).toEqual([false, true, false]), { timeout: 60_000, interval: 20 });
  expect(followed.problem()).toBeUndefined();
});
