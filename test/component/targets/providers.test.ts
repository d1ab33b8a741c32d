import { afterEach, beforeEach, expect, it } from 'vitest';
import { readDocument, rowsOf, sectionOf } from '../../../tools/reference/document.ts';
import { adminDocument, certificateUser, type DocumentParts } from '../../builders/admin-kube-config.ts';
import { everything, TargetWorld } from './target-world.ts';

let world: TargetWorld;

beforeEach(() => {
  world = new TargetWorld({ allowed: everything });
});
afterEach(async () => await world.clients.close());

const certificate = certificateUser();
const plugin = (command: string) => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command, args: ['token'], interactiveMode: 'Never' },
});
const service = 'https://shop.p-one';

const rows = ['virtual-clusters', 'clusters'].flatMap((page) =>
  rowsOf(sectionOf(readDocument(`docs/guide/${page}.md`), 'What each provider writes')),
);

it.each([
  'vCluster',
  'Cluster API',
  'Kamaji',
  'kubeadm',
  'AKS',
  'AKS without `--admin`',
  'kind',
  'k3s',
  'EKS',
  'GKE',
])('a page says of %s which server and credentials it writes, and what to set', (provider) => {
  const row = rows.find(([name]) => name === provider) ?? [];
  expect(row.length).toBeGreaterThanOrEqual(4);
  expect(row).not.toContain('');
});

/** The page's claim about each provider: the server that is dialled, or why none is. */
it.each<[string, DocumentParts, string]>([
  ['vCluster', { server: 'https://localhost:8443', user: certificate }, `${service}/`],
  [
    'vCluster with exportKubeConfig',
    { server: 'https://shop.example.com', user: { token: 'of-an-account' } },
    'https://shop.example.com/',
  ],
  ['kubeadm', { server: 'https://10.1.2.3:6443', user: certificate }, 'https://10.1.2.3:6443/'],
  [
    'AKS with --admin',
    {
      server: 'https://shop-dns-1a2b.hcp.example.azmk8s.io:443',
      user: { ...certificate, token: 'of-the-same' },
    },
    'https://shop-dns-1a2b.hcp.example.azmk8s.io/',
  ],
  [
    'kind with --internal',
    { server: 'https://shop-control-plane:6443', user: certificate },
    'https://shop-control-plane:6443/',
  ],
  ['kind', { server: 'https://127.0.0.1:41231', user: certificate }, 'AddressRefused'],
  ['k3s', { server: 'https://127.0.0.1:6443', user: certificate }, 'AddressRefused'],
  [
    'EKS',
    { server: 'https://1A2B.gr7.eu-west-1.eks.amazonaws.com', user: plugin('aws') },
    'KubeConfigRefused',
  ],
  ['GKE', { server: 'https://192.0.2.1', user: plugin('gke-gcloud-auth-plugin') }, 'KubeConfigRefused'],
  ['AKS without --admin', { user: plugin('kubelogin') }, 'KubeConfigRefused'],
  [
    'EKS with the token of a ServiceAccount',
    { server: 'https://1A2B.gr7.eu-west-1.eks.amazonaws.com', user: { token: 'of-an-account' } },
    'https://1a2b.gr7.eu-west-1.eks.amazonaws.com/',
  ],
])('the kubeconfig of %s', async (_, parts, expected) => {
  world.put(adminDocument(parts));
  const opened = await world.clients.open({ ...world.source, secret: { ...world.source.secret, service } });
  expect('target' in opened ? opened.target.config.server.href : opened.problem.reason).toBe(expected);
});

it('of k3s can be used by an instance that names the server', async () => {
  world.put(adminDocument({ server: 'https://127.0.0.1:6443', user: certificate }));
  const secret = { ...world.source.secret, server: 'https://10.1.2.3:6443' };
  expect(await world.clients.open({ ...world.source, secret })).toMatchObject({
    target: { config: { certificate: expect.any(String) } },
  });
});

it('of AKS with --admin has a certificate and a token, and the certificate alone is used', async () => {
  const user = { ...certificate, token: 'of-the-same' };
  world.put(adminDocument({ server: 'https://10.1.2.3:6443', user }));
  const opened = await world.clients.open(world.source);
  const config = 'target' in opened ? opened.target.config : {};
  expect(config).toMatchObject({ certificate: expect.stringContaining('BEGIN CERTIFICATE') });
  expect(config).not.toHaveProperty('token');
});
