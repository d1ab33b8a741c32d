import { afterAll, beforeAll, expect, it } from 'vitest';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { labels } from '../../../src/api/names.ts';
import { certificateSigningRequests, clusterRoleBindings, configMaps } from '../../../src/api/resources.ts';
import { createCertificateRequest } from '../../../src/credentials/certificates/certificate-request.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { systemClock as clock } from '../../../src/kube/clock.ts';
import { forEachConcurrently } from '../../../src/kube/for-each-concurrently.ts';
import { silentLogger } from '../../../src/logger.ts';
import { CertificateRevoker } from '../../../src/operator/certificates/certificate-revoker.ts';
import { RevocationController } from '../../../src/operator/certificates/revocation-controller.ts';
import {
  caFingerprint,
  type RevocationRecord,
  revocationIndexes,
} from '../../../src/operator/certificates/revocation-records.ts';
import { targetConcurrency } from '../../../src/operator/certificates/stray-bindings.ts';
import type { TargetClients } from '../../../src/platform/targets/target-clients.ts';

const count = 1_000;
const uids = Array.from(
  { length: count },
  (_, index) => `7e570000-0000-4000-8000-${String(index).padStart(12, '0')}`,
);
const namespace = 'default';
const authority = { ca: 'the authority' };
const marks = (uid: string) => ({ [labels.ownerUID]: uid });
const recordName = (uid: string) => `record-${uid}`;

const cluster = await virtualCluster();
/** The operator's requests to the virtual cluster. */
const asked = { requests: 0, passes: 0 };
let client: KubeClient;

beforeAll(async () => {
  client = createKubeClient({
    kubeConfig: kubeConfigSource({ file: cluster.plane.adminKubeconfig }),
    userAgent: 'latchkey-test',
    // As to every target.
    connections: 4,
    observe: () => void asked.requests++,
  });
  await forEachConcurrently(uids, 16, make);
}, 600_000);
afterAll(async () => await client.close());

/** Binding, signing request and record of one certificate. */
async function make(uid: string): Promise<void> {
  const api = cluster.admin;
  const metadata = { name: `latchkey-${uid}-1`, labels: marks(uid) };
  const subject = certificateSubject(uid, 1);
  const rbac = 'rbac.authorization.k8s.io';
  const { request } = createCertificateRequest({ commonName: subject, organization: subject });
  await Promise.all([
    api.createObject(clusterRoleBindings, {
      ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: subject }],
    }),
    api.createObject(certificateSigningRequests, {
      ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
      },
    }),
    api.createObject(configMaps, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: recordName(uid) } },
    }),
  ]);
}

function recordOf(uid: string): RevocationRecord {
  return {
    ...{ key: recordName(uid), name: recordName(uid), uid, resourceVersion: '1', ownerUID: uid },
    ...{ serials: [1], notAfter: Number.POSITIVE_INFINITY, readable: true },
    instance: { namespace, name: 'shop', uid: 'i' },
    secret: { namespace, name: 'vc-shop', key: 'config' },
    caFingerprint: caFingerprint(authority),
  };
}

function createController(): {
  readonly controller: RevocationController;
  readonly store: Store<RevocationRecord>;
} {
  const store = new Store<RevocationRecord>(revocationIndexes);
  for (const uid of uids) store.upsert(recordOf(uid));
  const clients = {
    open: async () => {
      asked.passes += 1;
      return { target: { client, config: { server: new URL(cluster.plane.server), ...authority } } };
    },
    remembered: () => undefined,
    forget: () => undefined,
  } as unknown as TargetClients;
  const complete = async ({ key, name }: RevocationRecord) => {
    await cluster.admin.client.delete(configMaps, { namespace, name });
    store.remove(key);
  };
  const controller = new RevocationController({
    ...{ store, clients, clock, random: Math.random, log: silentLogger },
    revoker: new CertificateRevoker(clients, clock),
    findOwner: () => undefined,
    records: { complete },
    events: { publish: () => undefined },
    pending: { inc: () => undefined, dec: () => undefined },
  });
  return { controller, store };
}

const named = async (resource: typeof clusterRoleBindings) =>
  (await cluster.admin.client.list(resource, { labelSelector: labels.ownerUID })).items.length;

it(`${count} certificates are revoked in one pass when their virtual cluster is back`, async ({
  annotate,
}) => {
  expect([await named(clusterRoleBindings), await named(certificateSigningRequests)]).toEqual([count, count]);
  const { controller, store } = createController();
  const began = performance.now();
  const usedBefore = process.cpuUsage();
  // As the queue does, which has one slot for each virtual cluster.
  for (const uid of uids) await controller.reconcile(recordName(uid));
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(usedBefore);
  const cpuSeconds = (user + system) / 1e6;
  await annotate(`${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU, ${asked.requests} requests`);
  expect(store.size).toBe(0);
  expect([await named(clusterRoleBindings), await named(certificateSigningRequests)]).toEqual([0, 0]);
  // A machine with much else to do is several times slower than one that has not; then a pass may not suffice. It takes 7 s and 5 s of CPU on one
  // that has not, and CPU time hardly changes.
  expect(asked.passes).toBeLessThanOrEqual(3);
  // The lists of each pass, and the deletions that were under way at the end of one are asked for again.
  expect(asked.requests).toBeLessThanOrEqual(2 * count + (6 + targetConcurrency) * asked.passes);
  expect(cpuSeconds).toBeLessThan(20);
  expect(seconds).toBeLessThan(180);
});
