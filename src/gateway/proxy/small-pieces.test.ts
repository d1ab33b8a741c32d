import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage } from '../../../test/builders/gateway-stage.ts';
import { waitFor } from '../../../test/fakes/wait-for.ts';

const key = 'a-key-that-alice-chose-herself';
const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const selves = '/kubernetes/management/apis/management.platform.sh/v1/selves';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

async function start(answer: string) {
  let received = '';
  const stage = await gatewayStage((socket, text) => {
    received += text;
    const isWhole = received.endsWith('0\r\n\r\n') || received.endsWith('a'.repeat(400));
    if (text.startsWith('GET') || isWhole) socket.write(answer);
  });
  running.push(stage);
  stage.know(key);
  return stage;
}

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const head = (method: string, ...headers: string[]) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    `Authorization: Bearer ${key}`,
    ...headers,
    '',
    '',
  ].join('\r\n');
const upload = head('POST', 'Transfer-Encoding: chunked');
const toSelves = upload.replace(path, selves);
const pieces = (count: number, text: string) => `${text.length.toString(16)}\r\n${text}\r\n`.repeat(count);
const end = '0\r\n\r\n';

describe('a body in pieces', () => {
  it.each([
    ['goes on', upload],
    ['the gateway reads itself', toSelves],
  ])(
    'of one byte is refused when there are too many, and its connection closed: one that %s',
    async (_, to) => {
      const { send, metrics } = await start(ok);
      const answer = await send(to + pieces(5_000, ' ') + end);
      expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*connection: close[\s\S]*too many small pieces/i);
      expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
      expect(await metrics()).toContain('latchkey_gateway_refusals_total{error="ERR_REQUEST_MALFORMED"} 1\n');
    },
  );

  it.each([
    ['of one byte passes when there are few', pieces(400, 'a'), 400],
    ['of a line each passes, however many there are', pieces(5_000, `${'b'.repeat(79)}a`), 5_000],
  ])('%s', async (_, body, bytes) => {
    const { send, seen } = await start(ok);
    expect(await send(upload + body + end)).toMatch(/^HTTP\/1\.1 200 /);
    expect(seen.join('').match(/a/g)?.length).toBeGreaterThanOrEqual(bytes);
  });
});

it('a body in a few pieces of one byte, or none, is read by the gateway', async () => {
  const { send, seen } = await start(ok);
  expect(await send(toSelves + pieces(1, '{') + pieces(400, ' ') + pieces(1, '}') + end)).toMatch(
    /^HTTP\/1\.1 201 /,
  );
  expect(await send(head('POST').replace(path, selves))).toMatch(/^HTTP\/1\.1 201 /);
  expect(seen).toEqual([]);
});

describe('an answer in pieces', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('of one byte that came together goes on together', async () => {
    const { send } = await start(chunked + pieces(5_000, 'b') + end);
    const [, body = ''] = (await send(head('GET'))).split('\r\n\r\n', 2);
    expect(body.match(/b/g)).toHaveLength(5_000);
    expect(body.match(/\r\n/g)?.length).toBeLessThan(500);
  });

  it.each([
    ['short', ''],
    ['long', '?watch=true'],
  ])(
    'that no one takes holds the target back, however small the pieces are: a %s request',
    async (_, query) => {
      const most = 400_000;
      let [count, isHeldBack] = [0, false];
      const stage = await gatewayStage((socket) => {
        // One in each turn, or they would go on together.
        const more = () => {
          if (socket.destroyed || isHeldBack || count >= most) return;
          count += 1;
          isHeldBack = !socket.write(pieces(1, 'b'.repeat(63)));
          setImmediate(more);
        };
        socket.write(chunked);
        more();
      });
      running.push(stage);
      stage.know(key);
      const client = connect(stage.port, '127.0.0.1').pause();
      client.write(head('GET').replace(path, path + query));
      await waitFor('the target to stand still', () => isHeldBack || count >= most, 60_000);
      expect(count).toBeLessThan(most);
      client.destroy();
    },
  );

  it('goes on at once, before the next one comes', async () => {
    const { port } = await start(chunked + pieces(1, 'b'));
    const received: string[] = [];
    const socket = connect(port, '127.0.0.1').on('data', (chunk) => void received.push(chunk.toString()));
    socket.write(head('GET'));
    await waitFor('the piece', () => received.join('').endsWith('1\r\nb\r\n'));
    socket.destroy();
  });
});
