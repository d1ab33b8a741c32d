import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it, onTestFailed } from 'vitest';
import { type Stored, secretAt } from '../../../lab/operator/api.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { type VirtualCluster, virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { canonicalJson } from '../../../src/api/canonical-json.ts';
import { labels, purposes, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { clusterRoleBindings, configMaps } from '../../../src/api/resources.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';
import { bindingOf, Project, tracesOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { adminClient, contentTypes } from '../../integration/admission/api-client.ts';

const world = await operatorWorld({ env: { ...targetSettings, LATCHKEY_FINALIZER_LIMIT: '2s' } });
const { admin } = world;
const cluster = await virtualCluster();
const master = await adminClient(world.plane);
afterAll(async () => await master.close());
const asOperator = master.withHeaders({
  'impersonate-user': 'system:serviceaccount:latchkey-system:latchkey-operator',
});
const pending = (reason: string) => `latchkey_revocations_pending{reason="${reason}"}`;

/** Keeps every ClusterRoleBinding in the virtual cluster, as its administrator may. */
async function refuseDeletes({ plane }: VirtualCluster): Promise<() => Promise<void>> {
  const name = 'keep-bindings';
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = {
    ...{ apiGroups: ['rbac.authorization.k8s.io'], apiVersions: ['*'] },
    ...{ operations: ['DELETE'], resources: ['clusterrolebindings'] },
  };
  const policy = {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name } },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: 'false', message: 'bindings stay', reason: 'Forbidden' }],
    },
  };
  const binding = {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name } },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  const input = `${JSON.stringify(policy)}\n---\n${JSON.stringify(binding)}`;
  expect(await plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
  await plane.kubectl(['create', 'clusterrolebinding', 'probe', '--clusterrole=view', '--user=nobody-here']);
  await until('the policy acts', async () => {
    const { exitCode } = await plane.kubectl(['delete', 'clusterrolebinding', 'probe', '--dry-run=server']);
    return exitCode !== 0;
  });
  const allow = async () => {
    const args = ['delete', '--ignore-not-found', '-f', '-'];
    expect(await plane.kubectl(args, { input })).toMatchObject({ exitCode: 0 });
  };
  onTestFailed(allow);
  return allow;
}

describe('a virtual cluster whose own policy keeps the binding of a deleted kubeconfig', () => {
  it('is told of with the end of the certificate and why, counted, and tried until it lets go', async () => {
    const project = await Project.ready(world, cluster);
    const kubeConfig = await project.issued();
    const allow = await refuseDeletes(cluster);
    await admin.delete(kubeConfig);
    const event = await admin.untilEvent(kubeConfig, reasons.certificateNotRevoked);
    expect(event.note).toContain(`still works until ${kubeConfig.status.notAfter}`);
    expect(event.note).toContain('because the cluster refused: ');
    await admin.untilGone(kubeConfig);
    const counted = async () => (await metricOf(world.operator, pending(reasons.targetForbidden))) === 1;
    await until('it is counted', counted);
    await allow();
    const gone = async () => (await tracesOf(kubeConfig, cluster)).length === 0;
    await until('nothing is left', gone, { timeoutMs: 120_000 });
    const done = async () => (await metricOf(world.operator, pending(reasons.targetForbidden))) === 0;
    await until('it is counted no more', done);
  }, 150_000);
});

/** As the operator signs them. */
async function signed(name: string, data: Record<string, string>): Promise<Record<string, string>> {
  const secret = await admin.get(secretAt(systemNamespace, systemObjects.revocationKey));
  const key = Buffer.from(secret.data?.['hmac-sha256.key'] ?? '', 'base64');
  const signature = createHmac('sha256', key).update(canonicalJson({ name, data })).digest('hex');
  return { ...data, signature };
}

async function writeRecord(name: string, data: Record<string, string>): Promise<Stored> {
  const metadata = { name, namespace: systemNamespace, labels: { [labels.purpose]: purposes.revocation } };
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: await signed(name, data) };
  const answer = await asOperator.send('POST', collectionPath(configMaps, systemNamespace), { body });
  expect(answer.status).toBe(201);
  return answer.body;
}

/** Data of a record about the virtual cluster of the project. */
async function recordedFor(project: Project): Promise<Record<string, string>> {
  const { metadata } = await project.issued();
  const labelSelector = `${labels.ownerUID}=${metadata.uid}`;
  const { items } = await admin.client.list<Stored>(configMaps, {
    namespace: systemNamespace,
    labelSelector,
  });
  const { signature: _, ...data } = items[0]?.data ?? {};
  return data;
}

const unreadable = pending(reasons.revocationUnreadable);
const isCounted = async (times: number) => (await metricOf(world.operator, unreadable)) === times;

describe('a record of the operator that cannot be read', () => {
  it('is an event and counted, and is counted no more when a person removes it', async () => {
    const name = world.name('latchkey-revocation');
    const record = await writeRecord(name, { uid: 'someone', notAfter: '+010000-01-01T00:14:59.000Z' });
    await until('it is counted', () => isCounted(1));
    await admin.untilEvent(record, reasons.revocationUnreadable);
    await admin.client.delete(configMaps, { namespace: systemNamespace, name });
    await until('it is counted no more', () => isCounted(0));
  });

  it('is acted on once it can be read, under the signature of the operator', async () => {
    const data = await recordedFor(await Project.ready(world, cluster));
    const uid = randomUUID();
    const gone = { metadata: { uid } };
    const subject = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: certificateSubject(uid, 1) };
    await cluster.admin.client.create(clusterRoleBindings, bindingOf({ subjects: [subject] }));
    const name = world.name('latchkey-revocation');
    const whole = { ...data, uid, serials: '1' };
    const { metadata } = await writeRecord(name, { ...whole, authority: '' });
    await until('it is counted', () => isCounted(1));
    expect(await tracesOf(gone, cluster)).toHaveLength(1);
    const mended = await asOperator.send('PATCH', objectPath(configMaps, metadata), {
      body: { data: await signed(name, whole) },
      contentType: contentTypes.mergePatch,
    });
    expect(mended.status).toBe(200);
    await until('nothing is left', async () => (await tracesOf(gone, cluster)).length === 0);
    await until('it is counted no more', () => isCounted(0));
    await admin.untilGone({ kind: 'ConfigMap', metadata });
  });
});
