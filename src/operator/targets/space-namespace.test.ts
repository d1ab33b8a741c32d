import { expect, it } from 'vitest';
import { clusterRecord } from '../../../test/builders/target-record.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { SpaceNamespace, type SpaceNamespaceOptions } from './space-namespace.ts';

const secret = { namespace: 'kube-system', name: 'staging', key: 'config' };
const cluster = clusterRecord({ name: 'staging', spec: { kubeConfigSecretRef: secret } });
const refused = (status: number, reason: string) =>
  new KubeError({ code: 'ERR_KUBE_STATUS', message: reason, status, reason, statusMessage: reason });

/** Finds the problem of a namespace about which the cluster answers this. */
async function problemWith(get: () => Promise<unknown>, one = cluster) {
  const open = async () => ({ target: { client: { get } } });
  const clients = { open } as unknown as SpaceNamespaceOptions['clients'];
  return await new SpaceNamespace({ clients, clock: new FakeClock() }).problem(one, 'shop');
}

it.each<[string, () => Promise<unknown>, string]>([
  ['is not there', () => Promise.reject(refused(404, 'NotFound')), 'does not exist'],
  [
    'is being deleted',
    async () => ({ metadata: { deletionTimestamp: '2026-11-25T10:00:00Z' } }),
    'is being deleted',
  ],
])('a namespace that %s is a problem of its space', async (_, get, text) => {
  expect(await problemWith(get)).toEqual({
    reason: 'NamespaceNotFound',
    message: expect.stringContaining(`The namespace in spec.clusterRef ${text}`),
  });
});

it.each<[string, () => Promise<unknown>]>([
  ['is there', async () => ({ metadata: { name: 'shop' } })],
  ['may not be read', () => Promise.reject(refused(403, 'Forbidden'))],
  ['cannot be asked for', () => Promise.reject(new Error('down'))],
])('a namespace that %s is none', async (_, get) => {
  expect(await problemWith(get)).toBeUndefined();
});

it('a cluster that is reached by its direct endpoint alone is not asked', async () => {
  const direct = clusterRecord({ spec: { directEndpoint: { host: 'a.example' } } });
  expect(await problemWith(() => Promise.reject(new Error('asked')), direct)).toBeUndefined();
});
