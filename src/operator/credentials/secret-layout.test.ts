import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { apiVersion } from '../../api/names.ts';
import { secretLocation } from '../../credentials/credential-secret.ts';
import { toClusterRecord } from '../../platform/targets/target-record.ts';
import { findLayout, isForEarlierCluster } from './secret-layout.ts';

const gateway = { issuer: 'https://latchkey.example.com', projectNamespacePrefix: 'p-' };
const none = () => undefined;
const known = { gateway, findCluster: none };
const format = 'argocd-cluster';
const keyWith = (secretRef: object) =>
  recordOf(
    credentialObject({
      spec: { user: 'alice', secretRef: { namespace: 'argocd', name: 'out', ...secretRef } },
    }),
  );
const kubeConfigWith = (secretRef: object): CredentialParts => ({
  ...{ kind: 'VirtualClusterInstanceKubeConfig', name: 'shop', metadata: { namespace: 'p-demo' } },
  spec: { secretRef: { name: 'out', ...secretRef } },
});
const type = { 'argocd.argoproj.io/secret-type': 'cluster' };

describe('the layout of a Secret', () => {
  it.each([
    ['cluster/staging', '/cluster/staging'],
    ['space/demo/dev', '/project/demo/space/dev'],
    ['virtualcluster/demo/shop', '/project/demo/virtualcluster/shop'],
  ])('leads Argo CD with a key to %s behind the gateway', (target, path) => {
    expect(findLayout(keyWith({ format, target }), { ...known, gateway: { ...gateway, ca: 'pem' } })).toEqual(
      {
        ...{ labels: type, annotations: {}, entries: {} },
        cluster: { name: 'ci', server: `https://latchkey.example.com/kubernetes${path}`, ca: 'pem' },
      },
    );
  });

  it('has what the template says besides', () => {
    const template = { labels: { app: 'x' }, entries: { project: 'demo' } };
    expect(findLayout(keyWith({ format, target: 'cluster/staging', template }), known)).toMatchObject({
      labels: { app: 'x', ...type },
      entries: { project: 'demo' },
    });
  });

  it('waits until the authority of the gateway is known', () => {
    const pending = { ...known, gateway: { ...gateway, isCAPending: true } };
    expect(findLayout(keyWith({ format, target: 'cluster/staging' }), pending)).toBe('pending');
    expect(findLayout(keyWith({}), pending)).toBeUndefined();
  });

  it.each([
    '',
    'platform',
    'cluster/',
    'cluster/..',
    'cluster/a/b',
    'space/demo',
    'virtualcluster//x',
    'x/y',
    'cluster/a%2f',
  ])('leads nowhere for a target that an earlier schema let through: %j', (target) => {
    expect(findLayout(keyWith({ format, target }), known)).not.toHaveProperty('cluster');
  });

  it('says of a kubeconfig only that it is a cluster: the document says the rest', () => {
    const record = recordOf(credentialObject(kubeConfigWith({ format })));
    expect(findLayout(record, known)).toEqual({ labels: type, annotations: {}, entries: {}, cluster: {} });
    expect(secretLocation(record)?.entry).toBe('kubeconfig');
    const plain = recordOf(credentialObject(kubeConfigWith({})));
    expect(secretLocation(plain)?.entry).toBe('config');
    expect(findLayout(plain, known)).toBeUndefined();
  });

  describe('of a token', () => {
    const tokenWith = (spec: object, status: Record<string, string> = { clusterUID: 'u1' }) =>
      recordOf(
        credentialObject({
          ...{ kind: 'DirectClusterEndpointToken', name: 'argo' },
          spec: { secretRef: { namespace: 'argocd', name: 'out', format }, ...spec },
          status,
        }),
      );
    const scope = { clusters: [{ cluster: 'edge' }] };
    const clusterWith = (directEndpoint?: object, metadata: object = {}) =>
      toClusterRecord({
        apiVersion,
        kind: 'Cluster',
        metadata: {
          ...{ name: 'edge', uid: 'u1', resourceVersion: '1', creationTimestamp: '2026-11-21T10:00:00Z' },
          ...metadata,
        },
        ...{ spec: { directEndpoint } },
      } as never);
    const find = (spec: object, cluster = clusterWith({ host: 'edge.example.com:8443' })) =>
      findLayout(tokenWith(spec), {
        ...{ gateway: { ...gateway, isCAPending: true } },
        findCluster: (name) => (name === 'edge' ? cluster : undefined),
      });

    it('leads Argo CD to the direct endpoint of the cluster in its scope, which needs nothing of the gateway', () => {
      const server = 'https://edge.example.com:8443/kubernetes/cluster/edge';
      expect(find({ scope })).toMatchObject({ labels: type, cluster: { name: 'argo', server } });
      const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
      const caData = Buffer.from(pem).toString('base64');
      const withCA = clusterWith({ host: 'edge.example.com:8443', caData });
      expect(find({ scope }, withCA)).toMatchObject({ cluster: { name: 'argo', server, ca: pem } });
      expect(find({ scope: { ...scope, roles: [{ role: 'any' }] } })).toMatchObject({ cluster: { server } });
    });

    it('leads to no Cluster that was made again under the name, until the token is judged for it', () => {
      const hash = 'a'.repeat(64);
      const cluster = clusterWith({ host: 'evil.example.com' }, { uid: 'u2' });
      const sources = { gateway, findCluster: () => cluster };
      const judge = (status: Record<string, string>) => {
        const token = tokenWith({ scope }, { credentialHash: hash, ...status });
        return [findLayout(token, sources), isForEarlierCluster(token, sources.findCluster)] as const;
      };
      for (const earlier of [{ clusterUID: 'u1' }, {}])
        expect(judge(earlier)).toEqual([{ problem: expect.stringContaining('was made again') }, true]);
      expect(judge({ clusterUID: 'u2' })).toEqual([
        expect.objectContaining({ cluster: expect.anything() }),
        false,
      ]);
      const token = tokenWith({ scope }, { credentialHash: hash, clusterUID: 'u1' });
      expect(findLayout(token, sources, 'u2')).toHaveProperty('cluster');
      expect(findLayout(token, sources, 'u3')).toHaveProperty('problem');
      const gone = clusterWith({ host: 'x' }, { uid: 'u2', deletionTimestamp: '2026-11-21T10:00:00Z' });
      expect(isForEarlierCluster(token, () => gone)).toBe(false);
      expect(isForEarlierCluster(token, () => clusterWith(undefined, { uid: 'u2' }))).toBe(false);
      expect(isForEarlierCluster(token, none)).toBe(false);
    });

    it.each<[string, boolean, string | undefined, object]>([
      ['is a quarter of an hour older than the life of the token', true, '2026-11-21T10:15:00Z', {}],
      ['is less than that older: clocks differ', false, '2026-11-21T10:14:59Z', {}],
      ['was made again since', false, '2026-11-21T10:15:00Z', { creationTimestamp: '2026-11-21T10:00:30Z' }],
      ['is younger', false, '2026-11-21T10:15:00Z', { creationTimestamp: '2026-11-21T12:00:00Z' }],
      ['is of a time that cannot be read', false, '2026-11-21T10:15:00Z', { creationTimestamp: 'once' }],
      ['may be older, and the token does not say', false, undefined, {}],
    ])('takes a Cluster that %s for that of an earlier release: %s', (_, isSame, issuedAt, metadata) => {
      const status = { credentialHash: 'a'.repeat(64), ...(issuedAt !== undefined && { issuedAt }) };
      const token = tokenWith({ scope }, status);
      const cluster = clusterWith({ host: 'edge.example.com' }, { uid: 'u9', ...metadata });
      const sources = { gateway, findCluster: () => cluster };
      expect(isForEarlierCluster(token, sources.findCluster)).toBe(!isSame);
      expect('problem' in Object(findLayout(token, sources))).toBe(!isSame);
    });

    it('believes what is remembered of a token where the status says nothing, and nothing else', () => {
      const cluster = clusterWith({ host: 'edge.example.com' }, { uid: 'u2' });
      const judge = (status: Record<string, string>, remembered: string) =>
        isForEarlierCluster(
          tokenWith({ scope }, { credentialHash: 'a'.repeat(64), ...status }),
          () => cluster,
          remembered,
        );
      expect([judge({}, 'u2'), judge({}, 'u1'), judge({ clusterUID: 'u1' }, 'u2')]).toEqual([
        ...[false, true, true],
      ]);
    });

    it('leads nowhere where the authority of the cluster is no PEM, and says so', () => {
      const caData = Buffer.from('pem').toString('base64');
      const found = find({ scope }, clusterWith({ host: 'edge.example.com', caData }));
      expect(found).toEqual({ problem: expect.stringContaining('no certificate in PEM') });
    });

    it('ends no token where a Cluster that was made again has an address or an authority that is none', () => {
      const token = tokenWith({ scope }, { credentialHash: 'a'.repeat(64), clusterUID: 'u1' });
      for (const place of [
        { host: 'edge.example.com', caData: Buffer.from('pem').toString('base64') },
        { host: 'no host' },
      ])
        expect(isForEarlierCluster(token, () => clusterWith(place, { uid: 'u2' }))).toBe(false);
    });

    it.each<[string, object]>([
      ['no scope', {}],
      ['an empty scope', { scope: {} }],
      ['a scope of no one', { scope: null }],
      ['several clusters', { scope: { clusters: [{ cluster: 'edge' }, { cluster: 'west' }] } }],
      ['all clusters', { scope: { clusters: [{ cluster: '*' }] } }],
      ['a project besides', { scope: { ...scope, projects: [{ project: 'red' }] } }],
      ['the platform besides', { scope: { ...scope, roles: [{ role: 'platform-cli' }] } }],
      ['the platform besides, as older clients say it', { scope: { ...scope, allowLoftCli: true } }],
      ['the platform besides, in a field of its own', { scope, allowPlatformCli: true }],
      ['a name that is a path', { scope: { clusters: [{ cluster: '../edge' }] } }],
    ])('leads nowhere with %s, and says so', (_, spec) => {
      expect(find(spec)).toEqual({ problem: expect.stringContaining('names exactly one cluster') });
    });

    it.each<[string, ReturnType<typeof clusterWith>, string]>([
      ['has no direct endpoint', clusterWith(), 'needs a direct endpoint of the Cluster "edge"'],
      ['has one without a host', clusterWith({ host: '' }), 'needs a direct endpoint of the Cluster "edge"'],
      [
        'is being deleted',
        clusterWith({ host: 'x' }, { deletionTimestamp: '2026-11-21T10:00:00Z' }),
        'needs the Cluster "edge"',
      ],
    ])('leads nowhere where the cluster %s, and says so', (_, cluster, problem) => {
      expect(find({ scope }, cluster)).toEqual({ problem: expect.stringContaining(problem) });
    });

    it('leads nowhere where there is no such cluster, and says so', () => {
      const found = find({ scope: { clusters: [{ cluster: 'west' }] } });
      expect(found).toEqual({ problem: expect.stringContaining('needs the Cluster "west"') });
    });
  });
});
