import { describe, expect, it } from 'vitest';
import { key, startedStages } from '../../../test/builders/started-stages.ts';

const start = startedStages();
const pageURL = 'https://latchkey.example.com:8444';
const management = '/kubernetes/management/apis/management.platform.sh/v1';
const keys = `${management}/ownedaccesskeys`;
const metadata = '/.well-known/oauth-protected-resource';
type Headers = Readonly<Record<string, string>>;

async function stageWithPage(options = {}) {
  const { send, ...stage } = await start(undefined, { pageURL, ...options });
  const ask = async (line: string, headers: Headers) => {
    const lines = Object.entries({ Host: 'a', Connection: 'close', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const answer = await send([`${line} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    const [head = ''] = answer.split('\r\n\r\n');
    const found = [...head.matchAll(/^([a-z-]+): (.*)$/gim)].map(
      ([, name = '', value = '']) => [name.toLowerCase(), value.trim()] as const,
    );
    const allowed = found.filter(([name]) => name.startsWith('access-control-'));
    return {
      status: Number(head.split(' ')[1]),
      vary: found.find(([name]) => name === 'vary')?.[1],
      allowed: Object.fromEntries(allowed),
    };
  };
  const preflight = async (path: string, method: string, origin = pageURL) =>
    await ask(`OPTIONS ${path}`, { Origin: origin, 'Access-Control-Request-Method': method });
  const read = async (path: string, origin: string) =>
    await ask(`GET ${path}`, { Origin: origin, Authorization: `Bearer ${key}` });
  return { ...stage, ask, preflight, read };
}

describe('a browser that shows the page', () => {
  it.each([
    [keys, 'POST', 'GET, POST'],
    [`${keys}/shop-ci`, 'PATCH', 'GET, PATCH, DELETE'],
    [`${keys}?watch=true&resourceVersion=1`, 'GET', 'GET, POST'],
    [`${management}/directclusterendpointtokens/a`, 'DELETE', 'GET, PATCH, DELETE'],
    [`${management}/virtualclusterinstancekubeconfigs`, 'GET', 'GET'],
    [`${management}/namespaces/p-demo/virtualclusterinstancekubeconfigs/a`, 'DELETE', 'GET, PATCH, DELETE'],
    [`${management}/namespaces/p-demo/virtualclusterinstances/shop/kubeconfig`, 'POST', 'POST'],
    [`${keys}?everyone=true`, 'GET', 'GET, POST'],
    [`${management}/credentiallocks`, 'GET', 'GET'],
    [`${management}/selves`, 'POST', 'POST'],
    ['/oauth/token', 'POST', 'POST'],
    ['/.well-known/oauth-protected-resource', 'GET', 'GET'],
  ])('may call %s by %s, and is told so without a credential', async (path, method, methods) => {
    const { preflight, state } = await stageWithPage();
    expect(await preflight(path, method)).toEqual({
      status: 204,
      vary: 'origin',
      allowed: {
        'access-control-allow-origin': pageURL,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '600',
      },
    });
    expect([state.used, state.asked]).toEqual([0, 0]);
  });

  it('may read the answer, refusals included', async () => {
    const { read, ask } = await stageWithPage();
    const allowed = {
      'access-control-allow-origin': pageURL,
      'access-control-expose-headers': 'retry-after, warning',
    };
    expect(await read(metadata, pageURL)).toEqual({ status: 200, vary: 'origin', allowed });
    expect(await read(keys, pageURL)).toMatchObject({ vary: 'origin', allowed });
    const stranger = { Origin: pageURL, Authorization: 'Bearer unknown' };
    expect(await ask(`GET ${keys}`, stranger)).toEqual({ status: 401, vary: 'origin', allowed });
  });

  it('finds the same below a base URL with a path', async () => {
    const { preflight } = await stageWithPage({ basePath: '/latchkey' });
    expect(await preflight(`/latchkey${keys}`, 'GET')).toMatchObject({ status: 204 });
    expect((await preflight(keys, 'GET')).allowed).toEqual({});
  });
});

describe('a page of someone else', () => {
  it.each([
    'null',
    'https://evil.example.com',
    'https://latchkey.example.com',
    'http://latchkey.example.com:8444',
    'https://latchkey.example.com:84440',
    'https://latchkey.example.com:8444.evil.example.com',
    'https://LATCHKEY.example.com:8444',
    `${pageURL}, https://evil.example.com`,
    '*',
  ])('at %s may call nothing', async (origin) => {
    const { preflight, read } = await stageWithPage();
    expect(await preflight(keys, 'GET', origin)).toMatchObject({ status: 401, allowed: {} });
    expect(await read(metadata, origin)).toEqual({ status: 200, vary: 'origin', allowed: {} });
    expect(await read(keys, origin)).toMatchObject({ vary: 'origin', allowed: {} });
    expect((await preflight('/oauth/token', 'POST', origin)).allowed).toEqual({});
  });
});

describe('no page may call', () => {
  const cluster = '/kubernetes/cluster/shop';
  it.each([
    `${cluster}/api/v1/namespaces/default/secrets`,
    `${cluster}/apis/management.platform.sh/v1/ownedaccesskeys`,
    `/kubernetes/project/demo/virtualcluster/shop/apis/management.platform.sh/v1/ownedaccesskeys`,
    '/kubernetes/management/api/v1/namespaces/default/configmaps',
    `${management}/virtualclusterinstances`,
    `${management}/clusters`,
    `${management}/credentiallocks/a`,
    `${keys}/a/b`,
    `${keys}/`,
    `${keys}/..%2f..`,
    `${keys}/../../../../../cluster/shop/api`,
    `/${keys}`,
    `${management.toUpperCase()}/ownedaccesskeys`,
    '/oauth/token/',
    '/version',
    '/',
  ])('%s', async (path) => {
    const { preflight, read } = await stageWithPage();
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await preflight(path, method)).allowed).toEqual({});
    expect(await read(path, pageURL)).toMatchObject({ vary: undefined, allowed: {} });
  });

  it('a path by a method that the page does not use', async () => {
    const { ask } = await stageWithPage();
    const headers = { Origin: pageURL, Authorization: `Bearer ${key}` };
    expect((await ask(`DELETE ${keys}`, headers)).allowed).toEqual({});
    // No preflight: it does not say what for.
    expect(await ask(`OPTIONS ${keys}`, { Origin: pageURL })).toMatchObject({ status: 401, allowed: {} });
  });

  it('anything where there is no page', async () => {
    const { ask } = await stageWithPage({ pageURL: undefined });
    const headers = { Origin: pageURL, 'Access-Control-Request-Method': 'GET' };
    expect(await ask(`OPTIONS ${keys}`, headers)).toEqual({ status: 401, vary: undefined, allowed: {} });
  });
});
