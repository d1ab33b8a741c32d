import { describe, expect, it } from 'vitest';
import { endpointAuthority, endpointOrigin } from '../../src/api/direct-endpoint.ts';
import { planProfile } from '../../src/operator/cluster-profiles/cluster-profile.ts';
import { findLayout } from '../../src/operator/credentials/secret-layout.ts';
import { aKey, baseURL, Person } from '../builders/command-line.ts';
import { credentialObject, recordOf } from '../builders/credential-object.ts';
import { clusterRecord, readyStatus } from '../builders/target-record.ts';
import { directEndpointHosts } from '../fixtures/direct-endpoint-hosts.ts';

const gateway = { issuer: baseURL, projectNamespacePrefix: 'p-' };
const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const encode = (text: string | Buffer) => Buffer.from(text).toString('base64');
const clusterAt = (host: string, caData?: string) =>
  clusterRecord({
    name: 'edge',
    spec: { directEndpoint: { host, caData } },
    status: readyStatus('True', 'Ready'),
  });

const profileOf = (host: string, caData?: string): string | undefined => {
  const plan = planProfile({ record: clusterAt(host, caData), gateway, present: undefined, now: 0 });
  const [provider] = (plan?.status.accessProviders ?? []) as { cluster: { server: string } }[];
  return provider?.cluster.server;
};

function secretOf(host: string, caData?: string): string | undefined {
  const token = recordOf(
    credentialObject({
      ...{ kind: 'DirectClusterEndpointToken', name: 'argo' },
      spec: {
        secretRef: { namespace: 'argocd', name: 'out', format: 'argocd-cluster' },
        scope: { clusters: [{ cluster: 'edge' }] },
      },
      status: { clusterUID: 'uid-of-edge' },
    }),
  );
  const layout = findLayout(token, { gateway, findCluster: () => clusterAt(host, caData) });
  return layout !== undefined && layout !== 'pending' && 'cluster' in layout
    ? layout.cluster?.server
    : undefined;
}

async function kubeconfigOf(host: string): Promise<string | undefined> {
  const person = new Person();
  const { stdout } = await person.run(`kubeconfig cluster/edge --direct`, {
    answers: { 'GET /clusters/edge': { spec: { directEndpoint: { host } } } },
    env: { LATCHKEY_BASE_URL: baseURL, LATCHKEY_ACCESS_KEY: aKey },
  });
  person.end();
  return /server: (\S+)/.exec(stdout)?.[1]?.replaceAll(/^['"]|['"]$/g, '');
}

describe('the address of a direct endpoint', () => {
  it.each(directEndpointHosts)('%s is one for profiles, Secrets and kubeconfigs', async (host, origin) => {
    const server = origin === undefined ? undefined : `${origin}/kubernetes/cluster/edge`;
    expect(endpointOrigin(host)).toBe(origin);
    expect(profileOf(host)).toBe(server);
    expect(secretOf(host)).toBe(server);
    expect(await kubeconfigOf(host)).toBe(server);
  });

  it('is that of no host where there is none', () => {
    expect(endpointOrigin('')).toBeUndefined();
  });
});

describe('the authority of a direct endpoint', () => {
  it.each<[string, string | undefined, string | undefined]>([
    ['nothing', undefined, ''],
    ['an empty text', '', ''],
    ['PEM', encode(pem), pem],
    ['PEM of Windows', encode(pem.replaceAll('\n', '\r\n')), pem.replaceAll('\n', '\r\n')],
    ['PEM behind a comment', encode(`# ours\n${pem}`), `# ours\n${pem}`],
    ['another text', encode('pem'), undefined],
    ['a certificate without its form of text', encode(Buffer.from([0x30, 0x82, 1, 2])), undefined],
    ['a key', encode(pem.replaceAll('CERTIFICATE', 'PRIVATE KEY')), undefined],
  ])('is read from %s', (_, caData, found) => {
    expect(endpointAuthority(caData)).toBe(found);
    const server = found === undefined ? undefined : 'https://edge.example.com/kubernetes/cluster/edge';
    expect(profileOf('edge.example.com', caData)).toBe(server);
    expect(secretOf('edge.example.com', caData)).toBe(server);
  });
});
