import { once } from 'node:events';
import { connect } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { memorySink } from '../../../test/builders/audit-lines.ts';
import { rawExchange } from '../../../test/builders/raw-exchange.ts';
import { startedStages } from '../../../test/builders/started-stages.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../test/fakes/wait-for.ts';
import type { AuditSink } from '../../audit/sink.ts';
import { noSitePolicy } from '../../credentials/site-policy.ts';
import type { ResponseCollector } from '../../kube/client/response-collector.ts';
import { silentLogger } from '../../logger.ts';
import { HeldBytes } from '../endpoints/shared/held-bytes.ts';
import { Quota } from '../endpoints/shared/quota.ts';
import { Misses } from '../gate/misses.ts';
import { CredentialRecords } from '../index/credential-records.ts';
import { Exchanges, type ExchangesOptions } from './exchanges.ts';
import { knownIssuers } from './key-sets.ts';

const stages = startedStages();
const url = 'https://issuer.example.com';
const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const keys = [{ ...(await exportJWK(publicKey)), kid: 'one' }];
const login = { clientID: 'cli', username: { claim: 'sub', prefix: '' }, ttl: 600 };
const issuer = { issuer: url, algorithms: ['ES256'], jwksURI: `${url}/keys`, login };

interface Start {
  readonly perMinute?: number;
  readonly problem?: string;
  readonly audit?: AuditSink;
  readonly read?: () => Promise<unknown>;
  /** The API server makes the key, and the operator never confirms it. Otherwise the API server is away. */
  readonly isMade?: boolean;
}

/** As the API server answers a write of a key. */
const made = { kind: 'OwnedAccessKey', metadata: { name: 'exchanged-a', uid: 'u', resourceVersion: '1' } };

async function start(options: Start = {}) {
  const { perMinute = 0, problem, audit, read = async () => ({ keys }), isMade = false } = options;
  const clock = new FakeClock();
  const records = new CredentialRecords();
  const sent: unknown[] = [];
  const errors: unknown[] = [];
  const log = { ...silentLogger, error: (...line: unknown[]) => void errors.push(line) };
  const exchange = new Exchanges({
    ...{ settings: { baseURL: 'https://latchkey.example.com', stallTimeoutMs: 60_000 }, clock, log },
    issuers: knownIssuers([issuer], { read, clock, random: () => 0, log: silentLogger }),
    accountTokens: { check: () => ({ problem: 'none' }), isOf: async () => false },
    index: {
      records,
      find: () => undefined,
      locks: { findAhead: () => undefined },
      findKey: () => undefined,
      problem: () => problem,
      used: () => undefined,
    },
    quota: new Quota({ records, now: () => clock.now(), limits: {} }),
    sitePolicy: () => noSitePolicy,
    held: new HeldBytes({ ofCredential: 2 ** 20, ofUser: 2 ** 20, ofAll: 2 ** 20 }),
    attempts: new Misses({ clock, perMinute, maxAddresses: 10 }),
    clientAddress: () => '192.0.2.1',
    upstream: {
      dispatch: (request: { readonly method: string }, collector: ResponseCollector) => {
        sent.push(request);
        if (!isMade) throw new Error('the API server is away');
        setImmediate(() => {
          const controller = undefined as never;
          collector.onResponseStart(controller, request.method === 'POST' ? 201 : 200, {});
          collector.onResponseData(controller, Buffer.from(JSON.stringify(made)));
          collector.onResponseEnd();
        });
        return { abort: () => undefined };
      },
    },
  } as unknown as ExchangesOptions);
  const stage = await stages(() => undefined, { services: { exchange }, ...(audit && { audit }) });
  const post = async (form: Record<string, string> | string, headers: readonly string[] = []) =>
    parse(await rawExchange(stage.port, requestText(form, headers)));
  return { ...stage, clock, sent, errors, post };
}

const form = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
};

function requestText(sent: Record<string, string> | string, headers: readonly string[] = []): string {
  const body = typeof sent === 'string' ? sent : new URLSearchParams(sent).toString();
  const type = 'Content-Type: application/x-www-form-urlencoded';
  const length = `Content-Length: ${body.length}`;
  const own = headers.some((line) => /^content-type/i.test(line)) ? [length] : [type, length];
  const framed = headers.some((line) => /^transfer-encoding/i.test(line)) ? [type] : own;
  return ['POST /oauth/token HTTP/1.1', 'Host: a', 'Connection: close', ...framed, ...headers, '', body].join(
    '\r\n',
  );
}

function parse(text: string) {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return {
    status: Number(head.split(' ')[1]),
    head: head.toLowerCase(),
    body: JSON.parse(body || '{}') as { error?: string; error_description?: string },
  };
}

const sign = async (clock: FakeClock, claims: object = {}): Promise<string> => {
  const iat = Math.floor(clock.now() / 1_000);
  return await new SignJWT({ iss: url, aud: 'cli', sub: 'alice', jti: 'a', iat, exp: iat + 300, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .sign(privateKey);
};

describe('an answer to a token request', () => {
  it('is an error of OAuth, with a sentence that has neither quotes nor more than ASCII', async () => {
    const { post, clock, sent } = await start();
    const { status, head, body } = await post({
      ...form,
      subject_token: await sign(clock, { sub: 'system:\u00e4"' }),
    });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect(head).toContain('cache-control: no-store');
    expect(head).toContain('content-type: application/json');
    expect(body.error_description).toMatch(
      /^this token is no login: the user name 'system:\?\/'' is not printable/,
    );
    expect(sent).toEqual([]);
  });

  it.each<[string, Record<string, string> | string, string, string?]>([
    ['an empty form', '', '400 invalid_request'],
    ['JSON', '{}', '400 invalid_request', 'Content-Type: application/json'],
    ['another grant', { grant_type: 'password' }, '400 unsupported_grant_type'],
    ['a scope', { ...form, subject_token: 'x', scope: 'a' }, '400 invalid_scope'],
    ['a bad token', { ...form, subject_token: 'x' }, '400 invalid_request'],
    ['an audience that is no name', { ...form, subject_token: 'x', audience: 'A' }, '400 invalid_target'],
    ['a large body', 'x'.repeat(32_769), '413 invalid_request'],
    [
      'a large body in pieces',
      `8001\r\n${'x'.repeat(32_769)}\r\n0\r\n\r\n`,
      '413 invalid_request',
      'Transfer-Encoding: chunked',
    ],
  ])('to %s says so', async (_, sent, expected, header) => {
    const { post } = await start();
    const { status, body } = await post(sent, header === undefined ? [] : [header]);
    expect(`${status} ${body.error}`).toBe(expected);
  });

  it('comes after ten seconds to a body that does not end, however often a byte of it comes', async () => {
    const { port, clock } = await start();
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await once(socket, 'connect');
    socket.write(`${requestText('').replace('Content-Length: 0', 'Content-Length: 100')}a`);
    while (!text.includes('\r\n\r\n')) {
      socket.write('a');
      await clock.advanceAsync(1_000);
    }
    socket.destroy();
    expect(parse(text)).toMatchObject({ status: 408, body: { error: 'temporarily_unavailable' } });
  });

  it('is 429 to an address that has asked too often, without a look at its token', async () => {
    const { post } = await start({ perMinute: 2 });
    const answers = [await post(form), await post(form), await post(form)];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 429]);
    expect(answers[2]).toMatchObject({
      head: expect.stringContaining('retry-after: 10'),
      body: { error: 'temporarily_unavailable' },
    });
  });

  it('is 503 to one address that has too many under way, and there is room again when they end', async () => {
    const { port, post } = await start();
    const sockets = Array.from({ length: 16 }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      await once(socket, 'connect');
      socket.write(requestText('').replace('Content-Length: 0', 'Content-Length: 100'));
    }
    while ((await post(form)).status !== 503);
    for (const socket of sockets) socket.destroy();
    while ((await post(form)).status !== 400);
  });

  it('is 503 while it is not known which keys there are', async () => {
    const { post } = await start({ problem: 'not synced' });
    expect(await post(form)).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  });

  it('is 503 while the keys of the issuer cannot be read', async () => {
    const { post, clock } = await start({
      read: async () => {
        throw new Error('away');
      },
    });
    const answer = await post({ ...form, subject_token: await sign(clock) });
    expect(answer).toMatchObject({
      status: 503,
      head: expect.stringContaining('retry-after'),
      body: { error: 'temporarily_unavailable' },
    });
  });

  it('is 500 after a fault of ours, and neither the log nor the answer has the token', async () => {
    const { post, clock, sent, errors } = await start();
    const token = await sign(clock);
    const answer = await post({ ...form, subject_token: token });
    expect(answer).toMatchObject({ status: 500, body: { error: 'server_error' } });
    expect([sent.length, errors.length]).toEqual([1, 1]);
    expect(JSON.stringify([answer, errors, sent])).not.toContain(token.slice(-30));
  });
});

it('a key whose client has left before the answer is taken away', async () => {
  const { port, clock, sent } = await start({ isMade: true });
  const client = connect(port, '127.0.0.1');
  client.write(requestText({ ...form, subject_token: await sign(clock) }));
  await waitFor('the key is made', () => sent.length === 1);
  client.destroy();
  await waitFor('it is deleted', () => sent.length === 2);
  expect(sent[1]).toMatchObject({ method: 'DELETE', path: expect.stringMatching(/\/exchanged-a$/) });
});

describe('the audit log', () => {
  it('has a line about a refused token, without the token', async () => {
    const log = memorySink();
    const { post, clock } = await start({ audit: log.sink });
    const token = await sign(clock, { aud: 'another' });
    await post({ ...form, subject_token: token });
    await waitFor('a line', () => log.counts.written === 1);
    const [event] = log.events();
    expect(event).toMatchObject({
      requestURI: '/oauth/token',
      user: { username: 'system:anonymous' },
      responseStatus: { code: 400 },
      annotations: { error: 'ERR_EXCHANGE_TOKEN', decision: 'refuse' },
    });
    expect(log.text()).not.toContain(token.slice(0, 30));
  });

  it('holds up what is to make a key until its line is written, where lines are required', async () => {
    const output = {
      maxBytes: 4_096,
      write: async () => {
        throw new Error('the disk is full');
      },
      close: async () => undefined,
    };
    const clock = new FakeClock();
    const log = memorySink({ mode: 'require', output, clock });
    const stage = await start({ audit: log.sink });
    const answer = stage.post({ ...form, subject_token: await sign(stage.clock) });
    let isOver = false;
    void answer.then(() => {
      isOver = true;
    });
    while (!isOver) await clock.advanceAsync(1_000);
    expect(await answer).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect(stage.sent).toEqual([]);
  });
});
