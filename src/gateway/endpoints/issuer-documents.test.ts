import { afterEach, describe, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage, type StageOptions } from '../../../test/builders/gateway-stage.ts';
import { systemNamespace, systemObjects } from '../../api/names.ts';
import { toPublishedRecord } from './issuer-documents.ts';

const [discovery, keys] = ['/.well-known/openid-configuration', '/openid/v1/jwks'];
const configMap = (data: unknown) => ({
  metadata: {
    namespace: systemNamespace,
    name: systemObjects.discovery,
    uid: '1',
    resourceVersion: '2',
    creationTimestamp: '',
  },
  data,
});
const documentAt = (path: string, data: unknown) => toPublishedRecord(configMap(data)).documents.get(path);
const published = { 'openid-configuration': '{"issuer":"a"}', jwks: '{"keys":[]}' };

describe('what is published', () => {
  it('is served as it stands, under a path for each entry', () => {
    expect(documentAt(discovery, published)).toMatchObject({
      text: '{"issuer":"a"}',
      contentType: 'application/json',
    });
    expect(documentAt(keys, published)).toMatchObject({
      text: '{"keys":[]}',
      contentType: 'application/jwk-set+json',
    });
  });

  it('has a tag that depends on nothing but the text', () => {
    const others = { ...configMap(published), metadata: { ...configMap({}).metadata, resourceVersion: '3' } };
    expect(toPublishedRecord(others).documents.get(keys)?.etag).toBe(documentAt(keys, published)?.etag);
    expect(documentAt(keys, { jwks: '{"keys":[1]}' })?.etag).not.toBe(documentAt(keys, published)?.etag);
    expect(documentAt(keys, published)?.etag).toMatch(/^"[0-9a-f]{32}"$/);
  });

  it.each([undefined, null, 'text', [], {}, { jwks: 1 }])('is nothing where the data is %j', (data) => {
    expect(documentAt(keys, data)).toBeUndefined();
  });
});

describe('a read of the keys', () => {
  const running: GatewayStage[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((stage) => stage.close()));
  });
  const document = documentAt(keys, published);
  const etag = document?.etag ?? '';

  async function start(options: StageOptions = {}) {
    const stage = await gatewayStage(() => undefined, options);
    running.push(stage);
    stage.state.published = document;
    const ask = async (method = 'GET', headers: readonly string[] = [], path = keys) =>
      await stage.send(
        [`${method} ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers, '', ''].join('\r\n'),
      );
    return { ...stage, ask };
  }
  const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

  it('takes no credential, and may be kept for half a minute', async () => {
    const { ask, seen, state } = await start();
    const answer = await ask();
    expect(answer).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*cache-control: max-age=30\r\n[\s\S]*\r\n\r\n\{"keys":\[\]\}$/,
    );
    expect(answer).toContain(`etag: ${etag}\r\n`);
    expect([seen, state.used]).toEqual([[], 0]);
  });

  it('ignores a credential that is not accepted', async () => {
    const { ask } = await start();
    expect(statusOf(await ask('GET', ['Authorization: Bearer unknown']))).toBe(200);
  });

  it('as HEAD has no body', async () => {
    const { ask } = await start();
    expect(await ask('HEAD')).toMatch(/^HTTP\/1\.1 200 [\s\S]*content-length: 11\r\n[\s\S]*\r\n\r\n$/);
  });

  it.each([etag, `W/${etag}`, `"other", ${etag}`, '*'])(
    'is answered with 304 to If-None-Match: %s',
    async (tag) => {
      const { ask } = await start();
      const answer = await ask('GET', [`If-None-Match: ${tag}`]);
      expect(answer).toMatch(/^HTTP\/1\.1 304 [\s\S]*\r\n\r\n$/);
      expect(answer).toContain(`etag: ${etag}\r\n`);
    },
  );

  it('gets the text where another one was read before', async () => {
    const { ask } = await start();
    expect(statusOf(await ask('GET', ['If-None-Match: "other"']))).toBe(200);
  });

  it('gets 503 while nothing is published', async () => {
    const { ask, state } = await start();
    state.published = undefined;
    expect(await ask()).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n[\s\S]*ERR_ISSUER_UNKNOWN/);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('is no %s', async (method) => {
    const { ask } = await start();
    expect(statusOf(await ask(method))).toBe(401);
  });

  it('stands below the path of the base URL', async () => {
    const { ask } = await start({ basePath: '/latchkey' });
    expect(statusOf(await ask('GET', [], `/latchkey${keys}`))).toBe(200);
    expect(statusOf(await ask())).toBe(404);
  });

  it('gets 429 when too many come from one address, which are not counted as misses; a live credential passes', async () => {
    const { ask, know } = await start({ missesPerAddress: 2 });
    know('a-key-that-alice-chose-herself');
    for (const status of [200, 200, 429]) expect(statusOf(await ask())).toBe(status);
    const live = ['Authorization: Bearer a-key-that-alice-chose-herself'];
    expect(statusOf(await ask('GET', live))).toBe(200);
    expect(statusOf(await ask('GET', [], '/kubernetes/management/version'))).toBe(401);
  });
});
