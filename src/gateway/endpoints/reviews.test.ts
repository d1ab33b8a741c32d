import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../../test/builders/gateway-stage.ts';
import { waitFor } from '../../../test/fakes/wait-for.ts';
import { systemClock } from '../../kube/clock.ts';
import { YAMLReader, yamlLimits } from '../yaml/yaml-reader.ts';
import { markIncomplete } from './reviews.ts';

const key = 'a-key-that-alice-chose-herself';
const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['pods'] }] }] };
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const created = (body: string) => `HTTP/1.1 201 Created\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const rules = created('{"kind":"SelfSubjectRulesReview","status":{"resourceRules":[]}}');
const ok: Behaviour = (socket) => void socket.write(rules);
const refused = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n';
const silent: Behaviour = () => undefined;

/** A gateway that knows a key with a scope. */
async function start(behaviour: Behaviour = ok, options: StageOptions = {}) {
  const stage = await gatewayStage(behaviour, options);
  running.push(stage);
  stage.know(key, verdictFor(scope));
  return stage;
}

const review = (kind: 'access' | 'rules', headers: readonly string[], body = '') =>
  [
    `POST /kubernetes/management/apis/authorization.k8s.io/v1/selfsubject${kind}reviews HTTP/1.1`,
    'Host: a',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    ...headers,
    '',
    body,
  ].join('\r\n');
const whole = review('rules', ['Connection: close', 'Content-Length: 2'], '{}');
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const counted = (code: string) => `latchkey_gateway_refusals_total{error="${code}"} 1\n`;

describe('the body of a review', () => {
  const options = { maxStallMs: 300, maxShort: 1 };

  it.each([
    ['half of it', ['Content-Length: 10'], '{"spec'],
    ['nothing of it', ['Content-Length: 10'], ''],
    ['a part in chunks', ['Transfer-Encoding: chunked'], '2\r\n{}\r\n'],
    ['nothing after the word to go on', ['Expect: 100-continue', 'Content-Length: 10'], ''],
  ])('of which comes %s gets 408, and its place is free again', async (_, headers, body) => {
    const { send, seen, metrics } = await start(ok, options);
    for (const kind of ['access', 'rules'] as const) {
      const answer = (await send(review(kind, headers, body))).replace('HTTP/1.1 100 Continue\r\n\r\n', '');
      expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*ERR_REQUEST_TIMEOUT/i);
    }
    expect(seen).toEqual([]);
    expect(statusOf(await send(whole))).toBe(201);
    expect(await metrics()).toContain('latchkey_gateway_refusals_total{error="ERR_REQUEST_TIMEOUT"} 2\n');
  });

  it('that comes slowly is read', async () => {
    const { port, seen } = await start(ok, { maxStallMs: 1_000 });
    const received: string[] = [];
    const socket = connect(port, '127.0.0.1').on('data', (chunk) => void received.push(chunk.toString()));
    socket.write(review('rules', ['Content-Length: 6']));
    // All of them take longer than it may stand still. On a busy machine each comes late.
    for (const part of ['{', ' ', ' ', ' ', ' ', '}']) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      socket.write(part);
    }
    await waitFor('the answer', () => received.join('').startsWith('HTTP/1.1 201 '));
    expect(seen.join('')).toContain('{    }');
    socket.destroy();
  });

  it('that is announced as too large is not waited for once it is', async () => {
    const { send, metrics } = await start(ok, { maxStallMs: 60_000 });
    const answer = await send(review('access', ['Content-Length: 9000000'], 'a'.repeat(66_000)));
    expect(statusOf(answer)).toBe(400);
    expect(await metrics()).toContain(counted('ERR_REQUEST_MALFORMED'));
  });

  it('in YAML is never read in the main thread: while others wait for its reader, requests go on', async () => {
    const held = Promise.withResolvers<undefined>();
    let waiting = 0;
    const read = async () => {
      waiting += 1;
      return await held.promise;
    };
    const { send, know } = await start(ok, { services: { yaml: { read } as unknown as YAMLReader } });
    know('key-of-bob', verdictFor(undefined, 'bob'));
    const body = `spec: [${','.repeat(8_000)}]`;
    const headers = ['Connection: close', `Content-Length: ${body.length}`];
    const text = review('access', headers, body).replace('application/json', 'application/yaml');
    const flood = Array.from({ length: 95 }, async () => statusOf(await send(text)));
    await waitFor('all reviews', () => waiting === 95);
    expect(statusOf(await send(whole.replace(key, 'key-of-bob')))).toBe(201);
    held.resolve(undefined);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([429]));
  });

  it('in YAML is read in turns of users, and more of one user than may wait get 429', async () => {
    const asked: string[] = [];
    const held = Promise.withResolvers<void>();
    const limits = { ...yamlLimits, short: { ...yamlLimits.short, ofUser: 2 } };
    const yaml = new YAMLReader({ clock: systemClock, limits, isAlone: () => true });
    const read = async (user: string, text: string) => {
      asked.push(user);
      await held.promise;
      return await yaml.read(user, text);
    };
    const { send, know } = await start(ok, { services: { yaml: { read } as YAMLReader } });
    know('key-of-bob', verdictFor(undefined, 'bob'));
    const body = 'spec: {resourceAttributes: {verb: get, resource: nodes}}';
    const headers = ['Connection: close', `Content-Length: ${body.length}`];
    const text = review('access', headers, body).replace('application/json', 'application/yaml');
    const answers = [text, text, text, text.replace(key, 'key-of-bob')].map(send);
    await waitFor('all reviews', () => asked.length === 4);
    held.resolve();
    const statuses = (await Promise.all(answers)).map(statusOf);
    expect(statuses.slice(0, 3).sort()).toEqual([201, 201, 429]);
    expect(statuses[3]).toBe(201);
  });

  it.each([
    ['values', `{"spec":{"a":[${'0,'.repeat(5_000)}0]}}`],
    ['levels', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
  ])('in JSON with too many %s is not read', async (_, body) => {
    const { send, metrics } = await start();
    const headers = ['Connection: close', `Content-Length: ${body.length}`];
    expect(statusOf(await send(review('access', headers, body)))).toBe(415);
    expect(await metrics()).toContain(counted('ERR_REVIEW_UNREADABLE'));
  });

  it('in a type that is not read counts as a refusal', async () => {
    const { send, metrics } = await start();
    const text = review('access', ['Connection: close', 'Content-Length: 2'], '{}');
    expect(statusOf(await send(text.replace('application/json', 'text/plain')))).toBe(415);
    expect(await metrics()).toContain(counted('ERR_REVIEW_UNREADABLE'));
  });
});

describe('a rules review', () => {
  it.each([
    ['says nothing', ''],
    ['stops in the middle', rules.slice(0, -5)],
  ])('of a target that %s gets 504 and gives its connection back', async (_, text) => {
    let closed = 0;
    const stage = await start(
      (socket) => {
        socket.on('close', () => {
          closed += 1;
        });
        socket.write(text);
      },
      { maxStallMs: 300, connections: 2 },
    );
    for (const count of [1, 2]) {
      expect(await stage.send(whole)).toMatch(/^HTTP\/1\.1 504 [\s\S]*ERR_UPSTREAM_TIMEOUT/);
      await waitFor('the end at the target', () => closed === count);
    }
    expect(await stage.metrics()).toContain(
      'latchkey_gateway_refusals_total{error="ERR_UPSTREAM_TIMEOUT"} 2\n',
    );
  });

  it('that waits in vain for a connection gets 503', async () => {
    const options = { connections: 2, maxWaitMs: 100, maxStallMs: 600 };
    const { send, metrics } = await start(silent, options);
    const answers = await Promise.all([whole, whole].map(send));
    expect(answers.map(statusOf).sort()).toEqual([503, 504]);
    expect(await metrics()).toContain(counted('ERR_UPSTREAM_BUSY'));
  });

  it('is asked once more when the target refuses our token and there is a newer one', async () => {
    const stage = await start((socket, request) =>
      socket.write(request.includes('Bearer two') ? rules : refused),
    );
    stage.state.tokens.push('two');
    const answer = await stage.send(whole);
    expect(answer).toMatch(/^HTTP\/1\.1 201 [\s\S]*"incomplete":true/);
    expect(stage.seen.map((text) => /Bearer \w+/.exec(text)?.[0])).toEqual(['Bearer one', 'Bearer two']);
  });

  it.each([
    ['there is no other', ['one']],
    ['the other is refused as well', ['one', 'two']],
  ])(
    'gets 503 when the target refuses our token and %s, not the 401 that would end its key',
    async (_, tokens) => {
      const stage = await start((socket) => void socket.write(refused));
      stage.state.tokens.splice(0, 1, ...tokens);
      expect(await stage.send(whole)).toMatch(/^HTTP\/1\.1 503 [\s\S]*ERR_UPSTREAM_UNAVAILABLE/);
      expect(stage.seen).toHaveLength(tokens.length);
    },
  );

  it('ends at the target when its client leaves', async () => {
    let isClosed = false;
    const stage = await start((socket) => {
      socket.on('close', () => {
        isClosed = true;
      });
    });
    const socket = connect(stage.port, '127.0.0.1', () => void socket.write(whole));
    await waitFor('the request', () => stage.seen.length > 0);
    socket.destroy();
    await waitFor('the end at the target', () => isClosed);
  });

  it.each([
    ['a status that means nothing', 'HTTP/1.1 600 X\r\nContent-Length: 2\r\n\r\n{}', 502],
    ['a redirect', 'HTTP/1.1 302 X\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n', 502],
    ['a text', created('no rules'), 502],
    ['half a megabyte', created(`"${'a'.repeat(2 ** 19)}"`), 502],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n', 502],
    ['a refusal of our identity', 'HTTP/1.1 401 X\r\nContent-Length: 2\r\n\r\n{}', 503],
    ['an error', 'HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops', 503],
  ])('that a target answers with %s becomes an error of the gateway', async (_, text, status) => {
    const { send } = await start((socket) => void socket.write(text));
    expect(statusOf(await send(whole))).toBe(status);
  });

  it('of very many rules holds up no one, also where the client wants YAML', async () => {
    const rule = '{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}';
    const { send } = await start(
      (socket) =>
        void socket.write(created(`{"status":{"resourceRules":[${Array(9_000).fill(rule).join()}]}}`)),
    );
    const before = process.threadCpuUsage();
    const answer = await send(whole.replace('Host', 'Accept: application/yaml\r\nHost'));
    const { user, system } = process.threadCpuUsage(before);
    expect(answer).toMatch(/^HTTP\/1\.1 201 [\s\S]*content-type: application\/yaml/);
    expect(parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ status: { incomplete: true } });
    expect((user + system) / 1_000).toBeLessThan(400);
  });

  it('is answered in plain JSON, whatever encoding the client takes', async () => {
    const { send, seen } = await start();
    expect(await send(whole.replace('Host', 'Accept-Encoding: gzip\r\nHost'))).toContain('"incomplete":true');
    expect(seen.join('')).not.toContain('accept-encoding');
  });
});

it('keeps the rules and says that they are not all', () => {
  const review = {
    kind: 'SelfSubjectRulesReview',
    status: { resourceRules: [{ verbs: ['*'] }], incomplete: false },
  };
  expect(markIncomplete(review)).toEqual({
    kind: 'SelfSubjectRulesReview',
    status: {
      resourceRules: [{ verbs: ['*'] }],
      incomplete: true,
      evaluationError: expect.stringContaining('scope'),
    },
  });
  expect(markIncomplete({})).toMatchObject({ status: { incomplete: true } });
});
