import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { clusterRoleBindings, configMaps } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';
import { renderRevocation } from '../../../src/operator/certificates/revocation-records.ts';
import { adminClient } from '../../integration/admission/api-client.ts';
import { bindingOf, Project, tracesOf } from '../kubeconfigs/kubeconfig-world.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin } = world;
const master = await adminClient(world.plane);
afterAll(async () => await master.close());
const asOperator = master.withHeaders({
  'impersonate-user': 'system:serviceaccount:latchkey-system:latchkey-operator',
});
const records = collectionPath(configMaps, 'latchkey-system');

/** A record that leads to the administrator kubeconfig of this project, and a binding inside that it would take away. */
async function plan() {
  const project = await Project.ready(world, cluster);
  const issued = await project.issued();
  const { items } = await admin.client.list<{ data: Record<string, string> } & typeof issued>(configMaps, {
    namespace: 'latchkey-system',
  });
  const genuine = items.find(({ data }) => data?.['uid'] === issued.metadata.uid);
  const ownerUID = randomUUID();
  const { name, namespace = '', uid } = project.instance.metadata;
  const planted = renderRevocation({
    ownerUID,
    instance: { namespace, name, uid },
    secret: { namespace, name: project.made.secret.metadata.name, key: 'config' },
    caFingerprint: genuine?.data['authority'] ?? '',
    serials: [1],
    notAfter: Date.now() + 3_600_000,
  });
  const subject = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'User',
    name: `management.platform.sh:kubeconfig:${ownerUID}:1`,
  };
  await cluster.admin.client.create(clusterRoleBindings, bindingOf({ subjects: [subject] }));
  return { planted, genuine, owner: { metadata: { uid: ownerUID } } };
}

it('a planted record is refused to everyone, and where the policy was away it is an event that nothing follows', async () => {
  const { planted, genuine, owner } = await plan();
  expect(await master.send('POST', records, { body: planted })).toMatchObject({ status: 403 });
  expect(genuine?.data).toHaveProperty('signature');

  const withSignature = { ...planted, data: { ...planted.data, signature: genuine?.data['signature'] } };
  const { status, body } = await asOperator.send('POST', records, { body: withSignature });
  expect(status).toBe(201);
  await admin.untilEvent(body, reasons.recordNotSigned);
  // The operator has worked on all that came before, and so on what it makes of the record.
  await admin.untilReady(await admin.createKey());
  const { resourceVersion } = (await admin.get(body)).metadata;
  expect(resourceVersion).toBe(body.metadata.resourceVersion);
  expect(await tracesOf(owner, cluster)).toHaveLength(1);
  await admin.delete(body);
});
