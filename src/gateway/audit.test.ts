import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memorySink, readAuditEvent } from '../../test/builders/audit-lines.ts';
import { credentialObject, liveRecord, uidOf } from '../../test/builders/credential-object.ts';
import type { Behaviour, StageOptions } from '../../test/builders/gateway-stage.ts';
import { verdictFor } from '../../test/builders/gateway-stage.ts';
import { key, ok, startedStages } from '../../test/builders/started-stages.ts';
import {
  acceptText,
  bearerProtocol,
  frameOf,
  openClient,
  upgradeText,
  webSocketHeaders,
} from '../../test/builders/upgrades.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';
import { generateAccessKey } from '../credentials/keys/access-key.ts';
import { credentialHash, keyIDOf } from '../credentials/keys/credential-hash.ts';

const start = startedStages();
const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';

async function startAudited(
  behaviour: Behaviour = ok,
  options: StageOptions = {},
  sink: Parameters<typeof memorySink>[0] = {},
) {
  const log = memorySink(sink);
  const stage = await start(behaviour, { ...options, audit: log.sink });
  /** Waits for so many lines. */
  const events = async (count: number) => {
    await waitFor(`${count} lines`, () => log.counts.written >= count);
    return log.events();
  };
  return { ...stage, ...log, events };
}

const request = (
  line = `GET ${path}`,
  headers: readonly string[] = [],
  credential: string | undefined = key,
) =>
  [
    `${line} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    ...(credential === '' ? [] : [`Authorization: Bearer ${credential}`]),
    ...headers,
    ...['', ''],
  ].join('\r\n');

const withAuditID = (auditID: string): Behaviour => {
  return (socket) =>
    void socket.write(`HTTP/1.1 200 OK\r\nAudit-Id: ${auditID}\r\nContent-Length: 2\r\n\r\nok`);
};

interface Refused {
  readonly code: number;
  readonly error: string;
  readonly username: string;
}

describe('a request has one line', () => {
  it('that says who sent it with which credential, what it was, from where, and what came of it', async () => {
    const { send, events, seen } = await startAudited(withAuditID('of-the-target'));
    await send(request(`GET ${path}/a?limit=5&token=secret`, ['User-Agent: kubectl/v1.36']));
    const [event, another] = await events(1);
    expect(another).toBeUndefined();
    expect(event).toMatchObject({
      ...{ stage: 'ResponseComplete', verb: 'get', requestURI: `${path}/a?limit=5` },
      ...{ user: { username: 'alice', groups: ['dev'] }, sourceIPs: ['127.0.0.1'] },
      ...{ userAgent: 'kubectl/v1.36', responseStatus: { code: 200 } },
      objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    });
    const { uid } = liveRecord();
    expect(event?.annotations).toEqual({
      ...{ 'credential-kind': 'OwnedAccessKey', credential: 'ci', 'credential-uid': uid, chain: uid },
      ...{ 'root-key': 'ci', 'root-key-uid': uid, 'root-key-id': expect.any(String) },
      ...{ 'key-id': keyIDOf(credentialHash(key)), target: 'management', decision: 'allow' },
      'upstream-audit-id': 'of-the-target',
    });
    // The target calls it the same.
    expect(seen[0]).toContain(`audit-id: ${event?.auditID}\r\n`);
  });

  it('with the groups that everyone has in the target, when it waited for the right to enter', async () => {
    const { send, events } = await startAudited();
    await send(request('GET /kubernetes/cluster/c/api/v1/nodes'));
    const [event, another] = await events(1);
    expect([event?.user.groups, event?.annotations['target'], another]).toEqual([
      ['dev', 'users'],
      'cluster/c',
      undefined,
    ]);
  });

  it.each<[string, string, (stage: Awaited<ReturnType<typeof startAudited>>) => unknown, Refused]>([
    [
      'the scope',
      request(),
      ({ know }) => know(key, verdictFor({})),
      { code: 403, error: 'ERR_SCOPE', username: 'alice' },
    ],
    [
      'the right to enter',
      request('GET /kubernetes/cluster/c/api/v1/nodes'),
      ({ state }) => Object.assign(state, { mayEnter: false }),
      { code: 403, error: 'ERR_TARGET_ENTRY', username: 'alice' },
    ],
    [
      'what it asks for',
      request('GET /kubernetes/management/api/v1/a%2fb'),
      () => undefined,
      { code: 400, error: 'ERR_REQUEST_MALFORMED', username: 'alice' },
    ],
    [
      'its impersonation',
      request(undefined, ['Impersonate-User: bob']),
      () => undefined,
      { code: 403, error: 'ERR_IMPERSONATION', username: 'system:anonymous' },
    ],
    [
      'its head, which has two hosts',
      request(undefined, ['Host: b']),
      () => undefined,
      { code: 400, error: 'ERR_REQUEST_MALFORMED', username: 'system:anonymous' },
    ],
    [
      'what it expects',
      request(undefined, ['Expect: the-unexpected']),
      () => undefined,
      { code: 417, error: 'ERR_REQUEST_EXPECTATION', username: 'system:anonymous' },
    ],
    [
      'its path',
      request('GET /nowhere'),
      () => undefined,
      { code: 404, error: 'ERR_REQUEST_PATH', username: 'alice' },
    ],
  ])('with the code when it is refused for %s', async (_, text, prepare, { code, error, username }) => {
    const stage = await startAudited();
    prepare(stage);
    await stage.send(text);
    const [event, another] = await stage.events(1);
    expect(another).toBeUndefined();
    expect([event?.responseStatus?.code, event?.user.username]).toEqual([code, username]);
    expect(event?.annotations).toMatchObject({ decision: 'refuse', error });
  });

  it('when the target does not answer, which is no refusal', async () => {
    const { send, events } = await startAudited((socket) => void socket.destroy());
    await send(request());
    const [event] = await events(1);
    expect(event?.responseStatus?.code).toBe(503);
    expect(event?.annotations).toMatchObject({ decision: 'allow', error: 'ERR_UPSTREAM_UNAVAILABLE' });
  });

  it('without a status when its client left before there was an answer', async () => {
    const { port, events, seen } = await startAudited(() => undefined);
    const client = openClient(port, request());
    await waitFor('the request', () => seen.length > 0);
    client.socket.destroy();
    const [event] = await events(1);
    expect([event?.stage, event?.responseStatus]).toEqual(['ResponseComplete', undefined]);
  });
});

it('names the client behind a proxy that is trusted, and then the proxy', async () => {
  const { send, events } = await startAudited(ok, {
    proxies: { trusted: ['127.0.0.0/8'], sendHeader: false },
  });
  await send(request(undefined, ['X-Forwarded-For: 192.0.2.1, 192.0.2.9']));
  await send(request(undefined, ['X-Forwarded-For: 192.0.2.1'], 'an-unknown-credential-of-a-stranger'));
  const all = await events(2);
  expect(all.map(({ sourceIPs }) => sourceIPs)).toEqual([
    ['192.0.2.9', '127.0.0.1'],
    ['192.0.2.1', '127.0.0.1'],
  ]);
});

it('names the credentials that one request deletes, and counts them', async () => {
  const { send, events, records } = await startAudited((socket, text) => {
    const body = text.startsWith('DELETE') ? '{"kind":"Status"}' : JSON.stringify(credentialObject());
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  const names = Array.from({ length: 18 }, (_, index) => `key-${String(index).padStart(2, '0')}`);
  for (const name of names) records.ofKind.OwnedAccessKey.upsert(liveRecord({ name }));
  await send(request('DELETE /kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys'));
  const [event] = await events(1);
  expect([event?.verb, event?.responseStatus?.code]).toEqual(['deletecollection', 200]);
  expect(event?.annotations).toMatchObject({
    // With that of the request itself, which comes last.
    ...{ action: 'delete', 'changed-kind': 'OwnedAccessKey', count: '19', decision: 'allow' },
    ...{ changed: names.slice(0, 16).join(' '), 'changed-uid': names.slice(0, 16).map(uidOf).join(' ') },
  });
});

describe('a request that goes on for long has two lines', () => {
  it('a watch one when it begins and one when it ends', async () => {
    const { port, events } = await startAudited((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\nAudit-Id: of-the-target\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
      );
    });
    const client = openClient(port, request(`GET ${path}?watch=true`));
    const [begun] = await events(1);
    expect([begun?.stage, begun?.annotations['upstream-audit-id']]).toEqual([
      'ResponseStarted',
      'of-the-target',
    ]);
    client.socket.destroy();
    const [, ended] = await events(2);
    expect([ended?.stage, ended?.auditID]).toEqual(['ResponseComplete', begun?.auditID]);
  });

  it('a tunnel the same, with its bytes and seconds, and why it was cut', async () => {
    const { port, events, open, state } = await startAudited((socket, text) => {
      if (text.startsWith('GET')) socket.write(acceptText('Sec-WebSocket-Protocol: v5.channel.k8s.io'));
      else socket.write(frameOf('twelve bytes'));
    });
    const offered = `v5.channel.k8s.io, ${bearerProtocol(key)}`;
    const headers = [...webSocketHeaders, `Sec-WebSocket-Protocol: ${offered}`];
    const client = openClient(port, upgradeText(headers));
    await client.until('101');
    const [begun] = await events(1);
    expect([begun?.stage, begun?.responseStatus?.code, begun?.verb]).toEqual(['ResponseStarted', 101, 'get']);
    client.socket.write('a'.repeat(1_000));
    await client.until('twelve bytes');
    state.verdicts.clear();
    open.recheck(credentialHash(key));
    await client.closed();
    const [, ended] = await events(2);
    expect(ended?.annotations).toMatchObject({
      'tunnel-received-bytes': '1000',
      'tunnel-seconds': expect.stringMatching(/^\d+\.\d{3}$/),
      cut: 'the credential is gone: it was deleted or replaced',
    });
    // With the frame that says why.
    expect(Number(ended?.annotations['tunnel-sent-bytes'])).toBeGreaterThan(13);
  });
});

describe('strangers', () => {
  it('have a line for what is public, which is no refusal', async () => {
    const { send, events } = await startAudited();
    await send(request('GET /version', [], ''));
    const [event] = await events(1);
    expect([event?.user.username, event?.responseStatus?.code, event?.annotations]).toEqual([
      ...['system:anonymous', 200],
      { decision: 'allow' },
    ]);
  });

  it('have a line that names the credential, or what it would be called', async () => {
    const { send, events, records } = await startAudited();
    const [unknown, disabled] = [generateAccessKey(randomBytes(32)), generateAccessKey(randomBytes(32))];
    const status = { ...liveRecord().status, credentialHash: credentialHash(disabled) };
    records.ofKind.OwnedAccessKey.upsert({ ...liveRecord(), status });
    await send(request(undefined, [], unknown));
    await send(request(undefined, [], disabled));
    await send(request(undefined, [], ''));
    const all = await events(3);
    expect(
      all.map(({ annotations, user }) => [user.username, annotations['key-id'], annotations['credential']]),
    ).toEqual([
      ['system:anonymous', keyIDOf(credentialHash(unknown)), undefined],
      ['system:anonymous', keyIDOf(credentialHash(disabled)), 'ci'],
      ['system:anonymous', undefined, undefined],
    ]);
  });
});

describe('a change of a credential', () => {
  const keys = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys';
  const answerWith =
    (object: object): Behaviour =>
    (socket, text) => {
      const body = JSON.stringify(object);
      const status = text.startsWith('POST') ? '201 Created' : '200 OK';
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    };
  const withBody = (line: string, body: object) => {
    const text = JSON.stringify(body);
    const headers = ['Content-Type: application/merge-patch+json', `Content-Length: ${text.length}`];
    return request(line, headers) + text;
  };

  it.each([
    ['', {}, 'delete', 'mine'],
    ['?dryRun=All', {}, undefined, undefined],
    ['', { dryRun: ['All'] }, undefined, undefined],
  ])('says what was deleted, and nothing of it of a dry run: %j %j', async (query, body, action, changed) => {
    const answer = answerWith(credentialObject({ name: 'mine' }));
    const stage = await startAudited((socket, text) => {
      if (text.startsWith('DELETE')) stage.records.ofKind.OwnedAccessKey.remove('mine');
      answer(socket, text);
    });
    stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name: 'mine' }));
    const text = withBody(`DELETE ${keys}/mine${query}`, body).replace('merge-patch+json', 'json');
    expect(await stage.send(text)).toContain('200 OK');
    const [event] = await stage.events(1);
    expect(event?.responseStatus?.code).toBe(200);
    expect([event?.annotations['action'], event?.annotations['changed']]).toEqual([action, changed]);
  });

  it.each([
    ['', 'disable', 'mine'],
    ['?dryRun=All', undefined, undefined],
  ])('says what was changed, and nothing of it of a dry run: %j', async (query, action, changed) => {
    const stage = await startAudited(answerWith(credentialObject({ name: 'mine' })));
    stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name: 'mine' }));
    const text = withBody(`PATCH ${keys}/mine${query}`, { spec: { disabled: true } });
    expect(await stage.send(text)).toContain('200 OK');
    const [event] = await stage.events(1);
    expect([event?.annotations['action'], event?.annotations['changed']]).toEqual([action, changed]);
  });
});

it('no line ever holds a credential, however it is sent', async () => {
  const { port, events, text, know } = await startAudited();
  const secret = generateAccessKey(randomBytes(32));
  know(secret);
  const encoded = `%6c%6b_${secret.slice(3)}`;
  const base64 = Buffer.from(secret).toString('base64');
  const texts = [secret, encoded, base64].flatMap((form) => [
    request(`GET ${path}?token=${form}`, [], secret),
    request(`GET ${path}?labelSelector=${form}`, [], secret),
    request(`GET ${path}/${form}`, [], secret),
    request(`GET /kubernetes/management/${form}/${form}`, [], secret),
    request(`GET /nowhere/${form}?${form}=${form}`, [], secret),
    request(undefined, [`User-Agent: a ${form}`], secret),
    request(undefined, [`Authorization: Bearer ${form}x`], secret),
    request(undefined, [], `${form}x`),
  ]);
  const protocol = `Sec-WebSocket-Protocol: v5.channel.k8s.io, ${bearerProtocol(secret)}`;
  texts.push(upgradeText([...webSocketHeaders, protocol]));
  texts.push(request(undefined, ['User-Agent: a\u00e9\u0085\u00ff"\\\t', `X-Token: ${secret}`], secret));
  for (const sent of texts) {
    const client = openClient(port, sent);
    await client.closed();
  }
  await events(texts.length);
  expect(text()).not.toContain(secret.slice(3));
  expect(text()).not.toContain(base64.slice(4));
  expect(text()).toMatch(/^[\x20-\x7e\n]+$/);
});

describe('where lines are required', () => {
  const stuck = () => {
    const state = { isStuck: true, text: '', tries: 0 };
    const output = {
      maxBytes: 4_096,
      write: async (bytes: Buffer) => {
        state.tries += 1;
        if (state.isStuck) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
        state.text += bytes.toString();
        return bytes.length;
      },
      close: async () => undefined,
    };
    return { state, output };
  };
  const limits = { maxBytes: 100_000, maxHeld: 2, maxHeldMs: 200 };

  it('a request reaches its target after its line is written, and ends with another one', async () => {
    const { state, output } = stuck();
    const { send, seen, counts } = await startAudited(
      ok,
      {},
      { mode: 'require', output, limits: { ...limits, maxHeldMs: 20_000 } },
    );
    const answer = send(request());
    await waitFor('a try to write its line', () => state.tries > 0);
    expect(seen).toEqual([]);
    state.isStuck = false;
    expect(await answer).toContain('200 OK');
    await waitFor('both lines', () => counts.written === 2);
    const stages = state.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).stage);
    expect(stages).toEqual(['RequestReceived', 'ResponseComplete']);
  });

  it('one that waits for too long, or behind too many, gets 503, and never reaches its target', async () => {
    const { state, output } = stuck();
    const { send, seen, metrics } = await startAudited(ok, {}, { mode: 'require', output, limits });
    const answers = await Promise.all(Array.from({ length: 5 }, async () => await send(request())));
    for (const answer of answers)
      expect(answer).toMatch(/^HTTP\/1\.1 503[\s\S]*retry-after: 5[\s\S]*ERR_AUDIT_UNAVAILABLE/i);
    expect(seen).toEqual([]);
    expect(await metrics()).toContain('latchkey_gateway_refusals_total{error="ERR_AUDIT_UNAVAILABLE"} 5');
    state.isStuck = false;
    expect(await send(request())).toContain('200 OK');
  });

  it('one whose credential ends while it waits does not reach its target', async () => {
    const { state, output } = stuck();
    const {
      port,
      seen,
      open,
      state: stage,
      counts,
    } = await startAudited(ok, {}, { mode: 'require', output, limits: { ...limits, maxHeldMs: 20_000 } });
    const client = openClient(port, request());
    await waitFor('a try to write its line', () => state.tries > 0);
    stage.verdicts.clear();
    open.recheck(credentialHash(key));
    await client.closed();
    state.isStuck = false;
    await waitFor('its lines', () => counts.written === 2);
    expect([seen, stage.used]).toEqual([[], 0]);
    const line = readAuditEvent(state.text.trim().split('\n')[1] ?? '');
    // No one refused it.
    expect(line.annotations).not.toHaveProperty('decision');
    expect(line.annotations).toHaveProperty('cut');
  });
});
