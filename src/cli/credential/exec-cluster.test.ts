import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority } from '../../../lab/controlplane/certificates.ts';
import {
  type Answers,
  aKey,
  baseURL,
  Person,
  selfOf,
  statusOf,
} from '../../../test/builders/command-line.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const authority = createAuthority('gateway').certificate;
const otherAuthority = createAuthority('evil').certificate;
const encode = (pem: string) => Buffer.from(pem).toString('base64');
const edge = `${baseURL}/kubernetes/cluster/edge`;
const place = `--base-url ${baseURL}`;

const infoFor = (cluster: object): string =>
  JSON.stringify({
    ...{ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' },
    spec: { interactive: false, cluster },
  });

/** A key in a file, and a gateway that takes it. */
const credential = async (words: string, cluster: object, answers: Answers = {}) => {
  const file = person.write('key', aKey);
  return await person.run(`credential ${place} --key-file ${file} ${words}`, {
    env: { KUBERNETES_EXEC_INFO: infoFor(cluster) },
    answers: { 'POST /selves': selfOf(), ...answers },
  });
};

const refusedWith = (problem: string) => ({
  ...{ code: 4, stdout: '' },
  stderr: expect.stringContaining(problem),
});

describe('a key', () => {
  it.each([
    edge,
    `${baseURL}:443/kubernetes/cluster/edge`,
    `${baseURL}/kubernetes/project/demo/virtualcluster/shop/`,
  ])('is for %s', async (server) => {
    expect(await credential('', { server })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(aKey),
    });
  });

  it.each([
    'https://evil.example.com/kubernetes/cluster/edge',
    'http://latchkey.example.com/kubernetes/cluster/edge',
    `${baseURL}.evil.example.com/kubernetes/cluster/edge`,
    `${baseURL}@evil.example.com/kubernetes/cluster/edge`,
    `${baseURL}:1/kubernetes/cluster/edge`,
    `${baseURL}\\kubernetes\\@evil.example.com/kubernetes/cluster/edge`,
    `${baseURL}/kubernetes/../cluster/edge`,
    `${baseURL}/other/kubernetes/cluster/edge`,
    `${baseURL}/kubernetes/cluster/edge?x=https://evil.example.com`,
    ` ${edge}`,
    `${edge}\n`,
  ])('is never given for the server %j, also not from the cache', async (server) => {
    expect(await credential('', { server: edge })).toMatchObject({ code: 0 });
    const asked = person.sent.length;
    expect(await credential('', { server })).toMatchObject(refusedWith('is not behind the gateway'));
    expect(person.sent).toHaveLength(asked);
  });
});

const profiled = (over: object = {}) => ({
  server: edge,
  'certificate-authority-data': encode(authority),
  config: { target: 'cluster/edge' },
  ...over,
});
const trusting = () => `--cluster-profile --certificate-authority ${person.write('ca.crt', authority)}`;

describe('a ClusterProfile that others changed', () => {
  it('gets the key where it leads to the target that it names', async () => {
    expect(await credential(trusting(), profiled())).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining(aKey) },
    });
  });

  it.each<[string, object, string]>([
    [
      'another server',
      { server: 'https://evil.example.com/kubernetes/cluster/edge' },
      'and not https://evil',
    ],
    ['another target', { config: { target: 'cluster/prod' } }, 'the server of cluster/prod is'],
    ['a proxy', { 'proxy-url': 'http://evil.example.com:3128' }, 'sets proxy-url'],
    ['no check of the certificate', { 'insecure-skip-tls-verify': true }, 'sets insecure-skip-tls-verify'],
    ['another name in the certificate', { 'tls-server-name': 'evil.example.com' }, 'sets tls-server-name'],
    [
      'another authority',
      { 'certificate-authority-data': encode(otherAuthority) },
      'an authority that is not',
    ],
    [
      'another authority beside the right one',
      { 'certificate-authority-data': encode(authority + otherAuthority) },
      'an authority that is not',
    ],
    ['an authority that is none', { 'certificate-authority-data': 'AAAA' }, 'an authority that is not'],
    [
      'an authority behind a broken one',
      {
        'certificate-authority-data': encode(
          `${authority}-----BEGIN CERTIFICATE-----\n-x-${otherAuthority.replace('-----BEGIN CERTIFICATE-----', '')}`,
        ),
      },
      'an authority that is not',
    ],
    [
      'another authority in front of the right one, as bytes that are no text',
      {
        'certificate-authority-data': Buffer.concat([
          new X509Certificate(otherAuthority).raw,
          Buffer.from(authority),
        ]).toString('base64'),
      },
      'an authority that is not',
    ],
    [
      'no authority, so that a client trusts all of its system',
      { 'certificate-authority-data': '' },
      'or none',
    ],
    [
      'the direct endpoint of somebody else',
      {
        server: 'https://evil.example.com/kubernetes/cluster/edge',
        config: { target: 'cluster/edge', direct: true },
      },
      'the server of cluster/edge is https://edge.example.com/kubernetes/cluster/edge',
    ],
    [
      'another authority of the direct endpoint',
      {
        server: 'https://edge.example.com/kubernetes/cluster/edge',
        'certificate-authority-data': encode(otherAuthority),
        config: { target: 'cluster/edge', direct: true },
      },
      'an authority that is not',
    ],
  ])('with %s gets no credential', async (_, over, problem) => {
    const found = await credential(trusting(), profiled(over), {
      'GET /clusters/edge': {
        spec: { directEndpoint: { host: 'edge.example.com', caData: encode(authority) } },
      },
    });
    expect(found).toMatchObject(refusedWith(problem));
    expect(person.sent.filter(({ method }) => method === 'POST')).toEqual([]);
    for (const { url } of person.sent) expect(url).not.toContain('evil');
  });

  it('gets no key by an authority that this system does not know already', async () => {
    expect(await credential('--cluster-profile', profiled())).toMatchObject(
      refusedWith('--certificate-authority'),
    );
  });

  it.each([
    ['a broken certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ['something else', '-----BEGIN X-----\nAAAA\n-----END X-----\n'],
  ])('gets no key where both it and the file of this system hold %s besides', async (_, more) => {
    const options = `--cluster-profile --certificate-authority ${person.write('ca.crt', authority + more)}`;
    const foreign = profiled({ 'certificate-authority-data': encode(otherAuthority + more) });
    expect(await credential(options, foreign)).toMatchObject(refusedWith('an authority that is not'));
    const broken = profiled({ 'certificate-authority-data': encode(more) });
    expect(await credential(options, broken)).toMatchObject(refusedWith('an authority that is not'));
    expect(await credential(options, profiled())).toMatchObject({ code: 0 });
  });

  it.each<[string, object]>([
    [
      'leads to the platform itself',
      profiled({ server: `${baseURL}/kubernetes/management`, config: { target: 'platform' } }),
    ],
    [
      'leads to a space, which has no ClusterProfile',
      profiled({
        server: `${baseURL}/kubernetes/project/red/space/app`,
        config: { target: 'space/red/app' },
      }),
    ],
    ['passes no target on', profiled({ config: null })],
    ['passes a target on that is none', profiled({ config: { target: '../prod' } })],
    ['passes a target on that is no text', profiled({ config: { target: ['cluster/edge'] } })],
  ])('gets nothing for a client that %s', async (_, cluster) => {
    expect(await credential(trusting(), cluster)).toMatchObject({ code: 2, stdout: '' });
  });

  it('gets a token for its direct endpoint, made with the key, which goes to the gateway alone', async () => {
    const cluster = profiled({
      server: 'https://edge.example.com/kubernetes/cluster/edge',
      config: { target: 'cluster/edge', direct: true },
    });
    const found = await credential(trusting(), cluster, {
      'GET /clusters/edge': {
        spec: { directEndpoint: { host: 'edge.example.com', caData: encode(authority) } },
      },
      'POST /selves': selfOf({ accessKey: 'ci' }),
      'POST /directclusterendpointtokens': {
        metadata: { name: 'a', creationTimestamp: new Date().toISOString() },
        spec: { ttl: 3600 },
        status: { token: 'a-token' },
      },
      'GET /kubernetes/cluster/edge/version': statusOf(403, 'no'),
    });
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('a-token') });
    const atEndpoint = person.sent.filter(({ url }) => url.startsWith('https://edge.example.com'));
    expect(atEndpoint.map(({ headers }) => headers['authorization'])).toEqual(['Bearer a-token']);
  });
});
