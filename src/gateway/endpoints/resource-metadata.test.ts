import { afterEach, describe, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage, type StageOptions } from '../../../test/builders/gateway-stage.ts';
import type { TrustedIssuer } from '../../api/trusted-issuer.ts';
import { resourceMetadata } from './resource-metadata.ts';

const path = '/.well-known/oauth-protected-resource';
const baseURL = 'https://latchkey.example.com';
const pipelines: TrustedIssuer = { issuer: 'https://ci.example.com', algorithms: ['RS256'] };
const people = (name: string): TrustedIssuer => ({
  ...{ issuer: `https://${name}.example.com`, algorithms: ['RS256'], certificateAuthority: 'PEM' },
  login: { clientID: `client-of-${name}`, username: { claim: 'sub', prefix: `${name}:` }, ttl: 60 },
});
const documentOf = (...trustedIssuers: readonly TrustedIssuer[]) =>
  JSON.parse(resourceMetadata({ baseURL, trustedIssuers }).text);

describe('the metadata of the gateway', () => {
  it('name the one issuer with a login, its client, and nothing else of the settings', () => {
    expect(documentOf(pipelines, people('idp'))).toEqual({
      resource: baseURL,
      authorization_servers: ['https://idp.example.com'],
      bearer_methods_supported: ['header'],
      latchkey_client_id: 'client-of-idp',
    });
  });

  it('name the client at each of several', () => {
    expect(documentOf(people('one'), pipelines, people('two'))).toEqual({
      resource: baseURL,
      authorization_servers: ['https://one.example.com', 'https://two.example.com'],
      bearer_methods_supported: ['header'],
      latchkey_client_ids: {
        'https://one.example.com': 'client-of-one',
        'https://two.example.com': 'client-of-two',
      },
    });
  });

  it('have no list where no one logs in', () => {
    expect(documentOf(pipelines)).toEqual({ resource: baseURL, bearer_methods_supported: ['header'] });
  });
});

describe('a read of the metadata', () => {
  const running: GatewayStage[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((stage) => stage.close()));
  });

  async function start(options: StageOptions = {}) {
    const stage = await gatewayStage(() => undefined, { trustedIssuers: [people('idp')], ...options });
    running.push(stage);
    return async (asked: string, method = 'GET') =>
      await stage.send(`${method} ${asked} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  }
  const resourceIn = (answer: string): unknown => {
    const [head = '', body = '{}'] = answer.split('\r\n\r\n');
    return head.startsWith('HTTP/1.1 200 ') ? JSON.parse(body).resource : head.split(' ')[1];
  };

  it('takes no credential, and may be kept for five minutes', async () => {
    const ask = await start();
    expect(await ask(path)).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*cache-control: max-age=300\r\n[\s\S]*content-type: application\/json\r\n/,
    );
    expect(await ask(path, 'HEAD')).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
    expect(resourceIn(await ask(path, 'POST'))).toBe('401');
  });

  it('is answered below the base URL, and where the RFC puts it for a base URL with a path', async () => {
    const ask = await start({ basePath: '/a/latchkey' });
    for (const asked of [`${path}/a/latchkey`, `/a/latchkey${path}`])
      expect(resourceIn(await ask(asked))).toBe(`${baseURL}/a/latchkey`);
    for (const asked of [
      path,
      `${path}/`,
      `${path}/a`,
      `${path}/a/latchkey/`,
      `${path}/a/latchkey/kubernetes`,
    ])
      expect(resourceIn(await ask(asked))).toBe('404');
  });

  it('without a path has one place', async () => {
    const ask = await start();
    expect(resourceIn(await ask(path))).toBe(baseURL);
    expect(resourceIn(await ask(`${path}/kubernetes`))).not.toBe(baseURL);
  });

  it('counts for its address', async () => {
    const ask = await start({ missesPerAddress: 2 });
    expect([await ask(path), await ask(path), await ask(path)].map(resourceIn)).toEqual([
      baseURL,
      baseURL,
      '429',
    ]);
  });
});
