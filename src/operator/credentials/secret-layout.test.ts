import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { secretLocation } from '../../credentials/credential-secret.ts';
import { findLayout } from './secret-layout.ts';

const gateway = { issuer: 'https://latchkey.example.com', projectNamespacePrefix: 'p-' };
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
    expect(findLayout(keyWith({ format, target }), { ...gateway, ca: 'pem' })).toEqual({
      ...{ labels: type, annotations: {}, entries: {} },
      cluster: { name: 'ci', server: `https://latchkey.example.com/kubernetes${path}`, ca: 'pem' },
    });
  });

  it('has what the template says besides', () => {
    const template = { labels: { app: 'x' }, entries: { project: 'demo' } };
    expect(findLayout(keyWith({ format, target: 'cluster/staging', template }), gateway)).toMatchObject({
      labels: { app: 'x', ...type },
      entries: { project: 'demo' },
    });
  });

  it('waits until the authority of the gateway is known', () => {
    const pending = { ...gateway, isCAPending: true };
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
    expect(findLayout(keyWith({ format, target }), gateway)).not.toHaveProperty('cluster');
  });

  it('says of a kubeconfig only that it is a cluster: the document says the rest', () => {
    const record = recordOf(credentialObject(kubeConfigWith({ format })));
    expect(findLayout(record, gateway)).toEqual({ labels: type, annotations: {}, entries: {}, cluster: {} });
    expect(secretLocation(record)?.entry).toBe('kubeconfig');
    const plain = recordOf(credentialObject(kubeConfigWith({})));
    expect(secretLocation(plain)?.entry).toBe('config');
    expect(findLayout(plain, gateway)).toBeUndefined();
  });
});
