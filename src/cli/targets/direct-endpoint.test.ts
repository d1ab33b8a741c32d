import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
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

const env = { LATCHKEY_BASE_URL: baseURL, LATCHKEY_ACCESS_KEY: aKey };
const authority = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const caData = Buffer.from(authority).toString('base64');
const clusterWith = (directEndpoint?: object) => ({
  'GET /clusters/edge': { metadata: { name: 'edge' }, spec: { directEndpoint } },
});
const space = {
  'POST /selves': selfOf(),
  'GET /namespaces/p-demo/spaceinstances/web': {
    spec: { clusterRef: { cluster: 'edge', namespace: 'web' } },
  },
};
const direct = async (line: string, answers: Answers, more: Readonly<Record<string, string>> = {}) => {
  const { stdout, ...result } = await person.run(`kubeconfig ${line} --direct`, {
    answers,
    env: { ...env, ...more },
  });
  return { ...result, stdout, document: parse(stdout) };
};

describe('a kubeconfig for a direct endpoint', () => {
  it('leads to the host of the Cluster, by the path that the gateway has, and trusts its authority', async () => {
    const { document } = await direct('cluster/edge', clusterWith({ host: 'edge.example.com:8443', caData }));
    expect(document.clusters).toEqual([
      {
        name: 'cluster-edge@edge.example.com:8443',
        cluster: {
          server: 'https://edge.example.com:8443/kubernetes/cluster/edge',
          'certificate-authority-data': caData,
        },
      },
    ]);
    expect(document.users[0].user.exec.args).toEqual([
      ...['credential', '--base-url', baseURL, '--direct', 'cluster/edge'],
    ]);
  });

  it('has the host as it is in a URL', async () => {
    const { document } = await direct('cluster/edge', clusterWith({ host: 'EDGE.example.com:443/' }));
    expect(document.clusters[0].cluster.server).toBe('https://edge.example.com/kubernetes/cluster/edge');
  });

  it('of a space leads to the endpoint of its cluster', async () => {
    const { document } = await direct('space/demo/web', { ...space, ...clusterWith({ host: '[::1]' }) });
    expect(document.clusters[0].cluster).toEqual({
      server: 'https://[::1]/kubernetes/project/demo/space/web',
    });
  });

  it('names the authority of the gateway by its file, for the authority of the endpoint is another', async () => {
    const file = person.write('platform.crt', authority);
    const { document } = await direct('cluster/edge', clusterWith({ host: 'edge.example.com', caData }), {
      LATCHKEY_CERTIFICATE_AUTHORITY: file,
    });
    expect(document.users[0].user.exec.args.slice(-2)).toEqual(['--certificate-authority', file]);
  });

  it('is written in a pipeline with the key that its token is exchanged for', async () => {
    const answers = {
      ...clusterWith({ host: 'edge.example.com' }),
      'POST /oauth/token': { access_token: 'exchanged', expires_in: 900 },
    };
    const { document } = await direct('cluster/edge --trust ci', answers, { LATCHKEY_ID_TOKEN: 'a.b.c' });
    expect(person.sent.at(-1)?.headers['authorization']).toBe('Bearer exchanged');
    expect(document.users[0].user.exec.args).toContain('--trust');
  });

  type Refused = [what: string, target: string, answers: Answers, refusal: [code: number, problem: string]];
  it.each<Refused>([
    ['a cluster without one', 'cluster/edge', clusterWith(), [1, 'the cluster edge has no direct endpoint']],
    ['an empty host', 'cluster/edge', clusterWith({ host: '' }), [1, 'has no direct endpoint']],
    ...[
      'edge.example.com/evil',
      'edge.example.com#evil',
      'edge.example.com?a',
      ':secret@edge.example.com',
      'alice@edge.example.com',
      'edge.example.com\nevil: true',
      'edge.example.com\\evil',
      ' edge.example.com',
    ].map(
      (host): Refused => [
        `the host ${JSON.stringify(host)}`,
        'cluster/edge',
        clusterWith({ host }),
        [1, 'spec.directEndpoint.host of the cluster edge cannot be used'],
      ],
    ),
    [
      'an authority that is none',
      'cluster/edge',
      clusterWith({ host: 'edge.example.com', caData: 'AAAA' }),
      [1, 'spec.directEndpoint.caData of the cluster edge cannot be used'],
    ],
    ['a virtual cluster', 'virtualcluster/demo/shop', {}, [2, 'is behind no direct endpoint']],
    ['the platform', 'platform', {}, [2, 'is behind no direct endpoint']],
    [
      'a space of a cluster that the key does not name',
      'space/demo/web',
      { ...space, 'GET /clusters/edge': statusOf(403, 'no') },
      [4, 'you may not use the cluster edge, in which space/demo/web is: no'],
    ],
    [
      'a space that names no cluster',
      'space/demo/web',
      { ...space, 'GET /namespaces/p-demo/spaceinstances/web': { spec: {} } },
      [1, 'space/demo/web names no cluster'],
    ],
  ])('is refused for %s', async (_, target, answers, [code, problem]) => {
    const result = await direct(target, answers);
    expect([result.code, result.stdout, result.stderr]).toEqual([
      ...[code, '', expect.stringContaining(problem)],
    ]);
  });
});
