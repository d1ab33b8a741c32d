import { afterEach, describe, expect, it } from 'vitest';
import {
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../../test/builders/gateway-stage.ts';

const key = 'a-key-that-alice-chose-herself';
const other = 'a-key-that-bob-chose-himself-x';
const path = '/kubernetes/management/apis/management.platform.sh/v1/selves';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

async function start(options: StageOptions = {}) {
  const stage = await gatewayStage(
    (socket) => void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'),
    options,
  );
  running.push(stage);
  stage.know(key);
  stage.know(other, verdictFor(undefined, 'bob'));
  const send = async (line: string, body = '', type = 'application/json') =>
    await stage.send(
      [
        `${line} HTTP/1.1`,
        'Host: a',
        'Connection: close',
        `Authorization: Bearer ${key}`,
        `Content-Type: ${type}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        '',
        body,
      ].join('\r\n'),
    );
  return { ...stage, post: (body?: string, query = '') => send(`POST ${path}${query}`, body), ask: send };
}

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
const about = (accessKey: string) => JSON.stringify({ spec: { accessKey } });

describe('a Self', () => {
  it('about an empty variable is refused, and says nothing of the sender', async () => {
    const { post } = await start();
    const answer = await post(about(''));
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*spec\.accessKey is empty; a variable may not be set/);
    expect(answer).not.toContain('alice');
    expect(statusOf(await post('{"spec":{"accessKey":null}}'))).toBe(201);
  });

  it('is answered here, whatever the scope, and counts as a use', async () => {
    const { post, seen, state, know } = await start();
    know(key, verdictFor({}));
    const answer = await post('{"metadata":{"name":"me","uid":"forged"}}');
    expect(statusOf(answer)).toBe(201);
    expect(bodyOf(answer)).toMatchObject({
      kind: 'Self',
      metadata: { name: 'me', creationTimestamp: null },
      spec: {},
      status: { subject: 'alice', accessKey: 'ci' },
    });
    expect(bodyOf(answer).metadata).not.toHaveProperty('uid');
    expect([seen, state.used]).toEqual([[], 1]);
  });

  it.each([
    ['GET', path],
    ['GET', `${path}?watch=true`],
    ['GET', `${path}/a`],
    ['POST', `${path}/a`],
    ['PUT', `${path}/a`],
    ['DELETE', path],
    ['POST', path.replace('/selves', '/namespaces/a/selves')],
  ])('is nothing for %s %s', async (method, target) => {
    const { ask, seen } = await start();
    expect(await ask(`${method} ${target}`)).toMatch(/^HTTP\/1\.1 405 [\s\S]*allow: POST\r\n/);
    expect(seen).toEqual([]);
  });

  it('of another version is up to the API server', async () => {
    const { ask, seen } = await start();
    expect(statusOf(await ask(`POST ${path.replace('/v1/', '/v2/')}`))).toBe(404);
    expect(seen).toHaveLength(1);
  });

  it('with a field that is not known is refused, or brings a warning where the client asks for that', async () => {
    const { post } = await start();
    expect(statusOf(await post('{"spec":{"a":1}}'))).toBe(400);
    const answer = await post('{"spec":{"a":1}}', '?fieldValidation=Warn');
    expect(answer).toMatch(/^HTTP\/1\.1 201 [\s\S]*warning: 299 - "unknown field \\"spec\.a\\""\r\n/);
  });

  it('about another key is one of the other, and does not say the key', async () => {
    const { post } = await start();
    const answer = await post(about(other));
    expect(bodyOf(answer).status.subject).toBe('bob');
    expect(answer).not.toContain(other);
  });

  it('about keys that are guessed gets 429 in the end, and about a good one an answer', async () => {
    const { post } = await start({ missesPerAddress: 2 });
    for (const status of [404, 404, 429, 429]) expect(statusOf(await post(about('guess')))).toBe(status);
    expect(statusOf(await post(about(other)))).toBe(201);
    expect(statusOf(await post())).toBe(201);
  });
});
