import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { annotations, finalizers, labels, serviceAccounts, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  credentialLocks,
  namespaces,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { createAsSelfService } from '../../e2e/lifecycle/self-service.ts';
import { allowUse, targetScenario } from '../../e2e/targets/target-scenario.ts';
import { makeInstance } from '../../e2e/targets/target-world.ts';
import { render } from '../../integration/config/render.ts';
import { type AuditEvent, auditEvents, auditPolicyFor, usesOf } from '../../integration/rbac/audit-uses.ts';
import {
  describePermission,
  type Permission,
  permissionsOf,
  type RBACObject,
} from '../../integration/rbac/permissions.ts';
import { compareRoleWithUse, covers } from '../../integration/rbac/role-use.ts';

const account = { kind: 'ServiceAccount', name: serviceAccounts.operator, namespace: systemNamespace };
const username = `system:serviceaccount:${systemNamespace}:${serviceAccounts.operator}`;
const crds = path.resolve(import.meta.dirname, '../../../crds');

// Of its own: what the operator of another test does must not stand in this log.
const [plane, cluster] = await Promise.all([
  startControlPlane({ name: 'permissions', auditPolicy: auditPolicyFor(username) }),
  virtualCluster(),
]);
const gate = await WriteGate.start(plane);
afterAll(async () => {
  await gate.close();
  await plane.stop();
});
await createEarlyKey();
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;

const project = 'p-permissions';

/** Made before there was a policy that adds finalizers and stamps. */
async function createEarlyKey(): Promise<void> {
  const key = {
    apiVersion: 'management.platform.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: { name: 'early' },
  };
  const create = async () => {
    const input = JSON.stringify({ ...key, spec: { user: 'alice' } });
    return (
      (await plane.kubectl(['apply', '-k', crds])).exitCode +
        (await plane.kubectl(['create', '-f', '-'], { input })).exitCode ===
      0
    );
  };
  await until('a key without a finalizer', create, { timeoutMs: 90_000, everyMs: 250 });
}

async function start(): Promise<RunningOperator> {
  const options = { name: world.name('operator'), env: targetSettings };
  const operator = await RunningOperator.start(gate.access, world.guard, options);
  await untilLeading(operator);
  return operator;
}

/** Everything that the operator does, once. */
const scenario: Readonly<Record<string, () => Promise<unknown>>> = {
  'a finalizer that no policy has set': async () => {
    const early = { kind: 'OwnedAccessKey', metadata: { name: 'early' } };
    const added = ({ metadata }: Stored) => metadata.finalizers?.includes(finalizers.OwnedAccessKey) === true;
    const key = await admin.until(early, 'its finalizer', added);
    await admin.delete(key);
    await admin.untilGone(key);
  },
  'a generated key, rotated': async () => {
    const key = await admin.untilReady(await admin.createKey());
    await admin.annotate(key, { [annotations.rotate]: 'now' });
    await admin.until(key, 'rotated', ({ status }) => status.serial === 2);
  },
  'keys and tokens in Secrets: made, rotated, moved, deleted': async () => {
    const place = () => ({ namespace: 'default', name: world.name('secret') });
    for (const credential of [
      await admin.createKey({ user: 'alice', secretRef: place() }),
      await admin.createToken({ secretRef: place() }),
    ]) {
      await admin.untilReady(credential);
      await admin.annotate(credential, { [annotations.rotate]: 'now' });
      await admin.until(credential, 'rotated', ({ status }) => status.serial === 2);
      await admin.patch(credential, { spec: { secretRef: place() } });
      await admin.until(credential, 'moved', ({ status }) => status.serial === 3);
      await admin.delete(credential);
      await admin.untilGone(credential);
    }
  },
  'login data, moved twice': async () => {
    const key = await admin.createKey({ user: 'alice', identity: { connectorData: 'one' } });
    await admin.untilReady(key);
    await admin.patch(key, { spec: { oidcLogin: { idToken: 'two' } } });
    const moved = ({ spec }: Stored) => spec.oidcLogin?.idToken === undefined;
    await admin.until(key, 'moved', moved);
  },
  'an end': async () => {
    await admin.untilRefused(await admin.createKey({ user: 'alice', ttl: 1 }), reasons.expired);
  },
  'objects of self-service, which go with their access key': async () => {
    const parent = await admin.untilReady(await admin.createKey());
    const spec = { accessKey: parent.metadata.name };
    const children = await Promise.all(
      ['OwnedAccessKey', 'DirectClusterEndpointToken'].map(
        async (kind) => await createAsSelfService(world, kind, spec),
      ),
    );
    await Promise.all(children.map(async (child) => await admin.untilReady(child)));
    await admin.delete(parent);
    await Promise.all([parent, ...children].map(async (object) => await admin.untilGone(object)));
  },
  'writes that are not answered, read back': async () => {
    const { instance } = await makeInstance(world, cluster, { namespace: project });
    await admin.untilReady(instance, { timeoutMs: 90_000 });
    const place = { name: world.name('kubeconfig'), namespace: project };
    const given = { virtualClusterInstance: instance.metadata.name };
    for (const create of [
      async () => await admin.createKey(),
      async () => await admin.createToken(),
      async () => await admin.create(virtualClusterInstanceKubeConfigs, given, place),
    ]) {
      let isFirst = true;
      gate.judge = ({ subresource, plural }) => {
        const isMeant = subresource === 'status' && plural !== 'virtualclusterinstances';
        const fate = isMeant && isFirst ? 'unanswered' : 'pass';
        if (fate !== 'pass') isFirst = false;
        return fate;
      };
      await admin.untilReady(await create());
      expect(isFirst).toBe(false);
    }
    gate.judge = () => 'pass';
  },
  'an admission policy that is missing': async () => {
    const binding = ['validatingadmissionpolicybinding', 'latchkey-dry-run-delete'];
    await plane.kubectl(['delete', ...binding]);
    const { metadata } = await admin.get({
      kind: 'Deployment',
      metadata: { name: 'latchkey-operator', namespace: systemNamespace },
    });
    const deployment = { metadata: { ...metadata, uid: metadata.uid ?? '' } };
    await admin.untilEvent(deployment, reasons.admissionMissing);
    await applyKustomization(plane, 'default');
    await admin.untilEvent(deployment, reasons.admissionComplete);
  },
  'a lock': async () => {
    const lock = await admin.create(credentialLocks, { user: 'nobody' });
    await admin.until(lock, 'counted', ({ status }) => status.stoppedCredentials === 0);
    await admin.delete(lock);
  },
  'the same event again': async () => {
    const key = await admin.untilReady(await admin.createKey());
    for (const disabled of [true, false, true]) {
      await admin.patch(key, { spec: { disabled } });
      await admin.until(key, 'noticed', ({ status }) => status.active === !disabled);
    }
  },
};

/** Applying what is not there yet needs `create` too, which the log does not tell. */
const withCreations = (events: readonly AuditEvent[]): AuditEvent[] =>
  events.flatMap((event) =>
    event.verb === 'patch' && event.responseStatus?.code === 201
      ? [event, { ...event, verb: 'create' }]
      : event,
  );

describe('the role of the operator', () => {
  let events: readonly AuditEvent[];
  let allowed: readonly Permission[];
  let used: readonly Permission[];

  beforeAll(async () => {
    await admin.createObject(namespaces, {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: project, labels: { [labels.project]: 'permissions' } },
    });
    await allowUse(world, 'platform-admin');
    const first = await start();
    const all = { ...scenario, ...targetScenario(world, cluster, project) };
    for (const [what, happens] of Object.entries(all)) {
      await happens().catch((cause: unknown) => {
        throw new Error(`${what}: ${cause}`, { cause });
      });
    }
    const options = { name: world.name('operator'), env: targetSettings };
    gate.refusesStreamingLists = true;
    const second = await RunningOperator.start(gate.access, world.guard, options);
    await untilStandingBy(second);
    // It tells at its end whatever it still has to tell.
    expect(await first.end()).toBe(0);
    await untilLeading(second);
    await admin.untilReady(await admin.createKey());
    expect(await second.end()).toBe(0);
    events = auditEvents(await readFile(plane.auditLog ?? '', 'utf8'));
    used = usesOf(withCreations(events), username);
    allowed = permissionsOf((await render(plane, 'rbac')) as unknown as RBACObject[], account);
  });

  it('lets it do all that it does: nothing was answered with 401 or 403', () => {
    const refused = events.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0));
    expect(refused).toEqual([]);
    expect(used.length).toBeGreaterThan(20);
  });

  it('names everything that it does', () => {
    expect(compareRoleWithUse(allowed, used).missing.map(describePermission)).toEqual([]);
  });

  it('allows nothing that it does not do', () => {
    expect(compareRoleWithUse(allowed, used).unused.map(describePermission)).toEqual([]);
  });

  it('reaches beyond its own namespace only for what it does there', () => {
    const beyond = used.filter(({ namespace }) => namespace !== systemNamespace);
    const everywhere = allowed.filter(({ namespace }) => namespace === '*');
    const needless = everywhere.filter((permission) => !beyond.some((use) => covers(permission, use)));
    expect(needless.map(describePermission)).toEqual([]);
  });
});
