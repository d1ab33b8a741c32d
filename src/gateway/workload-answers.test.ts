import { afterEach, describe, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  verdictFor,
} from '../../test/builders/gateway-stage.ts';

const running: GatewayStage[] = [];
afterEach(async () => void (await Promise.all(running.splice(0).map((stage) => stage.close()))));

async function start(behaviour: Behaviour) {
  const stage = await gatewayStage(behaviour);
  running.push(stage);
  stage.know('key');
  return stage;
}

const core = '/kubernetes/management/api/v1';
const ofService = `${core}/namespaces/default/services/shop:80/proxy/login`;
const request = (path: string, method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer key\r\n\r\n`;
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const refusal = (body: string, type = 'text/html', headers = '') =>
  `HTTP/1.1 401 Unauthorized\r\nContent-Type: ${type}\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Unauthorized', code: 401 };
const json = 'application/json';
const yaml = 'kind: Status\nmetadata: {}\nreason: Unauthorized\nstatus: Failure\n';
const protobuf = 'k8s\0\n\f\n\u0002v1\u0012\u0006StatusFailure\u001a\fUnauthorized"\fUnauthorized';

describe('a 401 from behind services/proxy, pods/proxy or nodes/proxy', () => {
  it.each([
    ofService,
    `${core}/namespaces/default/pods/shop/proxy/login`,
    `${core}/nodes/one/proxy/metrics`,
    ofService.replace('/management/', '/cluster/c/'),
  ])('is the answer of the workload, and is asked for once: %s', async (path) => {
    const login = refusal('log in first', 'text/html', 'WWW-Authenticate: Basic realm="shop"\r\n');
    const { send, seen, state } = await start((socket) => void socket.write(login));
    state.tokens.push('two');
    const answer = await send(request(path));
    expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*\r\n\r\nlog in first$/);
    expect(answer).not.toMatch(/www-authenticate/i);
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['nothing', '', json],
    ['another object', '{"error":"log in"}', json],
    ['a Status of another meaning', JSON.stringify({ ...status, code: 403 }), json],
    ['no JSON', '{"kind":"Status","reason":"Unauthorized"', json],
    ['other YAML', 'error: Unauthorized\n', 'application/yaml'],
    ['a Status that is longer than any', JSON.stringify({ ...status, message: 'x'.repeat(9_000) }), json],
    ['a Status as a page', JSON.stringify(status), 'text/html'],
    ['much', 'x'.repeat(100_000), json],
  ])('is passed on when it holds %s', async (_, body, type) => {
    const { send } = await start((socket) => void socket.write(refusal(body, type)));
    const answer = await send(request(ofService));
    expect(statusOf(answer)).toBe(401);
    expect(answer.endsWith(`\r\n\r\n${body}`)).toBe(true);
  });

  it('comes in pieces as it goes on', async () => {
    const head =
      'HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { send } = await start((socket) => {
      socket.write(`${head}3e8\r\n${'a'.repeat(1_000)}\r\n`);
      setImmediate(() => socket.write(`1388\r\n${'b'.repeat(5_000)}\r\n2\r\ncc\r\n0\r\n\r\n`));
    });
    const answer = await send(request(ofService));
    expect(statusOf(answer)).toBe(401);
    const text = answer.replace(/\r\n[0-9a-f]+\r\n/g, '');
    expect(text).toMatch(/a{1000}b{5000}cc/);
  });

  it.each([
    ['JSON', JSON.stringify(status), json, 'GET'],
    ['JSON of a kind', `${JSON.stringify(status)}\n`, 'application/json;charset=utf-8', 'GET'],
    ['YAML', yaml, 'application/yaml', 'GET'],
    ['protobuf', protobuf, 'application/vnd.kubernetes.protobuf', 'GET'],
    ['no body, to HEAD', '', json, 'HEAD'],
  ])('is about our token when the API server says so in %s: the next one is tried', async (...refused) => {
    const [, body, type, method] = refused;
    const { send, seen, state } = await start((socket, text) =>
      socket.write(
        text.includes('Bearer two') ? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' : refusal(body, type),
      ),
    );
    state.tokens.push('two');
    expect(statusOf(await send(request(ofService, method)))).toBe(200);
    expect(seen).toHaveLength(2);
  });

  it('that claims to be about our token, from a workload, costs its own client a 503 and no one else anything', async () => {
    const { send, seen } = await start((socket, text) =>
      socket.write(
        text.includes('/proxy/')
          ? refusal(JSON.stringify(status), json)
          : 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      ),
    );
    expect(statusOf(await send(request(ofService)))).toBe(503);
    expect(seen).toHaveLength(1);
    expect(statusOf(await send(request(`${core}/nodes`)))).toBe(200);
  });

  it.each([
    `${core}/namespaces/default/services/shop`,
    `${core}/namespaces/default/services/shop/status`,
    '/kubernetes/management/apis/example.com/v1/namespaces/default/widgets/a/proxy',
  ])('from anywhere else is never passed on: %s', async (path) => {
    const { send } = await start((socket) => void socket.write(refusal('log in first')));
    expect(statusOf(await send(request(path)))).toBe(503);
  });
});

describe('a 403 to the key of one whose rights come by groups', () => {
  const forbidden = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno';
  const ofAlice = () => {
    const verdict = verdictFor();
    const requester = { user: 'alice', groups: ['dev'] };
    return { ...verdict, record: { ...verdict.record, kind: 'OwnedAccessKey' as const, requester } };
  };
  const answerTo = async (path: string) => {
    const { send, state } = await start((socket) => void socket.write(forbidden));
    for (const hash of state.verdicts.keys()) state.verdicts.set(hash, ofAlice());
    return await send(request(path));
  };

  it('says that the key has none of them', async () => {
    expect(await answerTo(`${core}/namespaces`)).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*\nwarning: 299 - "the access key has none of the groups of alice \(dev\), nor the rights/,
    );
  });

  it('goes on as it is when a workload says it', async () => {
    expect(await answerTo(ofService)).not.toContain('299');
  });
});
