import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { secretAt } from '../../../lab/operator/api.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { type VirtualCluster, virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { canonicalJson } from '../../../src/api/canonical-json.ts';
import { labels, purposes, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';
import { Project, tracesOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { targetSettings } from '../../e2e/targets/target-world.ts';
import { adminClient } from '../../integration/admission/api-client.ts';

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
  return async () => {
    expect(await plane.kubectl(['delete', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
  };
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

describe('a record of the operator that cannot be read', () => {
  it('is an event and counted, and is counted no more when a person removes it', async () => {
    const name = world.name('latchkey-revocation');
    const data = { uid: 'someone', notAfter: '+010000-01-01T00:14:59.000Z' };
    const secret = await admin.get(secretAt(systemNamespace, systemObjects.revocationKey));
    const key = Buffer.from(secret.data?.['hmac-sha256.key'] ?? '', 'base64');
    const signature = createHmac('sha256', key).update(canonicalJson({ name, data })).digest('hex');
    const { status, body: record } = await asOperator.send(
      'POST',
      collectionPath(configMaps, systemNamespace),
      {
        body: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace: systemNamespace, labels: { [labels.purpose]: purposes.revocation } },
          data: { ...data, signature },
        },
      },
    );
    expect(status).toBe(201);
    const series = pending(reasons.revocationUnreadable);
    await until('it is counted', async () => (await metricOf(world.operator, series)) === 1);
    await admin.untilEvent(record, reasons.revocationUnreadable);
    await admin.client.delete(configMaps, { namespace: systemNamespace, name });
    await until('it is counted no more', async () => (await metricOf(world.operator, series)) === 0);
  });
});
