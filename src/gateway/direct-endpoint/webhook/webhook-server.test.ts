import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { createAuthority, createClient, createServer } from '../../../../lab/controlplane/certificates.ts';
import { systemClock } from '../../../kube/clock.ts';
import { WebhookServer } from './webhook-server.ts';

const authority = createAuthority('endpoint');
const pair = createServer(authority, ['localhost']);
const clients = createAuthority('clients');
const strangers = createAuthority('clients');
const clientOf = (of: typeof clients) => {
  const { certificate: cert, key } = createClient(of, { user: 'api-server' });
  return { cert, key };
};
const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user: 'ann' } };

const opened: WebhookServer[] = [];
const held: Socket[] = [];
afterEach(async () => {
  for (const socket of held.splice(0)) socket.destroy();
  for (const server of opened.splice(0)) await server.close(0);
});

async function start() {
  const judged: object[] = [];
  const answers: string[] = [];
  const server = new WebhookServer({
    address: { host: '127.0.0.1', port: 0 },
    certificate: { cert: pair.certificate, key: pair.key },
    clientCA: clients.certificate,
    clock: systemClock,
    judge: (spec) => {
      judged.push(spec);
      return { allowed: false, denied: spec['user'] !== 'ann', reason: '' };
    },
    onAnswer: (answer) => answers.push(answer),
  });
  opened.push(server);
  const { port } = await server.listen();
  const post = async (
    body: string,
    {
      connect = clientOf(clients) as object,
      path = '/authorize?timeout=3s',
      method = 'POST' as 'POST' | 'PUT',
    } = {},
  ) => {
    const dispatcher = new Agent({ connect: { ca: authority.certificate, ...connect } });
    try {
      const answer = await request(`https://127.0.0.1:${port}${path}`, { method, dispatcher, body });
      return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) as object };
    } finally {
      await dispatcher.destroy();
    }
  };
  return { post, judged, answers, port };
}

describe('the server of the webhook', () => {
  it('answers reviews of an API server with its certificate', async () => {
    const { post, judged, answers } = await start();
    expect(await post(JSON.stringify(review))).toEqual({
      status: 200,
      body: {
        ...{ apiVersion: review.apiVersion, kind: review.kind },
        status: { allowed: false, denied: false, reason: '' },
      },
    });
    await post(JSON.stringify({ ...review, spec: {} }));
    expect(judged).toEqual([{ user: 'ann' }, {}]);
    expect(answers).toEqual(['no_opinion', 'denied']);
  });

  it.each([
    ['without a certificate', {}],
    ['with one of another authority of the same name', clientOf(strangers)],
  ])('hears no one %s', async (_, connect) => {
    const { post, judged } = await start();
    await expect(post(JSON.stringify(review), { connect })).rejects.toThrow();
    expect(judged).toEqual([]);
  });

  it.each([
    ['no JSON', '{', {}, 400],
    ['an empty body', '', {}, 400],
    ['another kind', JSON.stringify({ ...review, kind: 'SelfSubjectAccessReview' }), {}, 400],
    ['an older version', JSON.stringify({ ...review, apiVersion: 'authorization.k8s.io/v1beta1' }), {}, 400],
    ['more than a review can be', JSON.stringify({ ...review, more: 'x'.repeat(300_000) }), {}, 413],
    ['another path', JSON.stringify(review), { path: '/' }, 404],
    ['another method', JSON.stringify(review), { method: 'PUT' as const }, 404],
  ])('has no answer to %s, which the API server takes for a refusal', async (_, body, how, status) => {
    const { post, judged, answers } = await start();
    expect(await post(body, how)).toEqual({ status, body: {} });
    expect(judged).toEqual([]);
    expect(answers).toEqual(['unreadable']);
  });

  it('answers an API server although others open connections without end and show no certificate', async () => {
    const { post, port } = await start();
    const fill = async (host: string): Promise<void> => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: host }).on('error', () => undefined);
      held.push(socket);
      await once(socket, 'connect');
    };
    for (let count = 0; count < 1_100; count++) await fill(`127.0.0.${2 + (count % 3)}`);
    expect(await post(JSON.stringify(review))).toMatchObject({ status: 200 });
  });

  it('keeps the connection of an API server while strangers come and go', async () => {
    const { port } = await start();
    const dispatcher = new Agent({
      connections: 1,
      connect: { ca: authority.certificate, ...clientOf(clients) },
    });
    const ask = async () => {
      const { statusCode, body } = await request(`https://127.0.0.1:${port}/authorize`, {
        ...{ method: 'POST', dispatcher, body: JSON.stringify(review) },
      });
      await body.dump();
      return statusCode;
    };
    let reconnected = 0;
    dispatcher.on('connect', () => (reconnected += 1));
    expect(await ask()).toBe(200);
    for (let count = 0; count < 1_100; count++) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
      held.push(socket);
      await once(socket, 'connect');
    }
    expect(await ask()).toBe(200);
    expect(reconnected).toBe(1);
    await dispatcher.destroy();
  });
});
