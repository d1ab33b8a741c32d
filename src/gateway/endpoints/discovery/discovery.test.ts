import { afterEach, describe, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage } from '../../../../test/builders/gateway-stage.ts';

const key = 'a-key-that-alice-chose-herself';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const answer = (status: string, body: string, ...headers: string[]) =>
  [`HTTP/1.1 ${status}`, `Content-Length: ${body.length}`, ...headers, '', body].join('\r\n');

/** An API server with this document, which knows its tag. */
async function start(document: string, tag = '"A"') {
  const stage = await gatewayStage((socket, request) => {
    const isKnown = tag !== '' && request.includes(`if-none-match: ${tag}\r\n`);
    const headers = tag === '' ? [] : [`ETag: ${tag}`];
    socket.write(
      isKnown ? answer('304 Not Modified', '', ...headers) : answer('200 OK', document, ...headers),
    );
  });
  running.push(stage);
  stage.know(key);
  const get = async (path: string, ...headers: string[]) =>
    await stage.send(
      [
        `GET /kubernetes/management${path} HTTP/1.1`,
        'Host: a',
        'Connection: close',
        `Authorization: Bearer ${key}`,
        ...headers,
        '',
        '',
      ].join('\r\n'),
    );
  return { ...stage, get };
}

const statusOf = (text: string): number => Number(text.split(' ')[1]);
const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
const tagOf = (text: string): string => /\r\netag: (.*)\r\n/i.exec(text)?.[1] ?? '';
const resources = '/apis/management.platform.sh/v1';

describe('a document of the API server', () => {
  it('is read once, and asked for again with its tag', async () => {
    const { get, seen } = await start('{"resources":[]}');
    const [first, second] = [await get(resources), await get(resources)];
    expect(bodyOf(first).resources).toHaveLength(4);
    expect(bodyOf(second)).toEqual(bodyOf(first));
    expect(seen.map((request) => /if-none-match: (.*)\r\n/.exec(request)?.[1])).toEqual([undefined, '"A"']);
  });

  it('has a tag of ours, with which clients need not read it again', async () => {
    const { get } = await start('{"resources":[]}');
    const tag = tagOf(await get(resources));
    expect(tag).toMatch(/^"[0-9A-F]{64}"$/);
    for (const sent of [tag, `W/${tag}`, `"x", ${tag}`])
      expect(statusOf(await get(resources, `If-None-Match: ${sent}`))).toBe(304);
    expect(statusOf(await get(resources, 'If-None-Match: "A"'))).toBe(200);
  });

  it('is written in protobuf for clients that take nothing else, and in JSON for all others', async () => {
    const { get, seen } = await start('{"groupVersion":"a/v1","resources":[]}');
    const binary = await get(resources, 'Accept: application/vnd.kubernetes.protobuf');
    expect(binary).toMatch(
      /\r\ncontent-type: application\/vnd\.kubernetes\.protobuf\r\n[\s\S]*k8s\0[\s\S]*selves/,
    );
    expect(seen.at(-1)).toContain('accept: application/json\r\n');
    for (const accept of ['application/vnd.kubernetes.protobuf, */*', 'application/json'])
      expect(bodyOf(await get(resources, `Accept: ${accept}`)).resources).toHaveLength(4);
    const other = await get(resources, 'Accept: application/vnd.kubernetes.protobuf;as=Table;v=v1');
    expect(other).not.toContain('selves');
  });

  it('is another one for each form', async () => {
    const { get, seen } = await start('{"resources":[]}');
    await get(resources);
    await get(resources, 'Accept: application/json;as=Table');
    expect(seen[1]).toContain('accept: application/json;as=Table\r\n');
    expect(seen[1]).not.toContain('if-none-match');
  });

  it('without a tag is read each time', async () => {
    const { get, seen } = await start('{"resources":[]}', '');
    const [first] = [await get(resources), await get(resources)];
    expect([tagOf(first), seen.length]).toEqual(['', 2]);
    expect(seen.join('')).not.toContain('if-none-match');
  });

  it('is asked for without a hash of ours and without packing', async () => {
    const { get, seen } = await start('{}');
    await get('/openapi/v3/apis/management.platform.sh/v1?hash=OURS&timeout=32s', 'Accept-Encoding: gzip');
    expect(seen[0]).toMatch(/^GET \/openapi\/v3\/apis\/management\.platform\.sh\/v1\?timeout=32s HTTP/);
    expect(seen[0]).not.toMatch(/accept-encoding/i);
  });

  it('in a binary form alone passes unchanged', async () => {
    const { get } = await start('binary');
    expect(await get(resources, 'Accept: application/vnd.kubernetes.protobuf')).toMatch(/\r\n\r\nbinary$/);
  });

  it.each([
    ['403 Forbidden', '{"kind":"Status"}', 403],
    ['503 Service Unavailable', '{"kind":"Status"}', 503],
    ['200 OK', 'no JSON', 200],
  ])('that is %s %s passes as it is', async (status, body, expected) => {
    const stage = await gatewayStage((socket) => void socket.write(answer(status, body, 'Retry-After: 3')));
    running.push(stage);
    stage.know(key);
    const text = await stage.send(
      `GET /kubernetes/management${resources} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    expect([statusOf(text), text.endsWith(`\r\n\r\n${body}`), /retry-after: 3/i.test(text)]).toEqual([
      expected,
      true,
      true,
    ]);
  });
});
