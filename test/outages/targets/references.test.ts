import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, resourceOf, type Stored } from '../../../lab/operator/api.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { until } from '../../../lab/operator/until.ts';
import { kubeConfigSecret, sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { annotations, group } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  clusters,
  namespaces,
  type Resource,
  secrets,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { objectPath } from '../../../src/kube/resource-path.ts';
import { give, introduce, type Person } from '../../e2e/rights/people.ts';
import { accessSecretOf, makeInstance } from '../../e2e/targets/target-world.ts';
import { type ApiClient, clientFor, contentTypes } from '../../integration/admission/api-client.ts';
import { type Attempt, forged, stamps } from '../rights/crowd.ts';
import { type Piece, takeAway } from '../rights/policies-away.ts';

const [plane, cluster] = await Promise.all([startInstalled({ name: 'references' }), sharedVirtualCluster()]);
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane, clear: false, env: targetSettings });
const { admin } = world;

const binding: Piece = { kind: 'ValidatingAdmissionPolicyBinding', name: 'latchkey-target-secrets' };
const namespace = 'victim';
/** Of the victim: an administrator kubeconfig, which `mallory` may not get. */
const secretRef = { namespace, name: 'vc-shop', key: 'config' };
let mallory: Person;
let byAdmin: ApiClient;
let asOperator: ApiClient;
/** Objects of the administrator: all that mallory tries, by right. */
let connected: Stored;
let east: Stored;
let space: Stored;

/** Attempts of mallory: in the namespace of the victim she may make instances and spaces, but may not read Secrets. */
const attempts: readonly [Attempt, Attempt, Attempt] = [
  [virtualClusterInstances, { kubeConfigSecretRef: { name: secretRef.name } }, { namespace }],
  [clusters, { kubeConfigSecretRef: secretRef }, {}],
  [spaceInstances, { clusterRef: { cluster: 'victims', namespace: 'kube-system' } }, { namespace }],
];

async function makeAll(metadata: object = {}): Promise<readonly Stored[]> {
  const made: Stored[] = [];
  for (const [resource, spec, place] of attempts)
    made.push(await mallory.create(resource, spec, { ...place, ...metadata }));
  return made;
}

/** All of it while these are away; then they come back. */
async function madeWithout(
  away: readonly Piece[],
  metadata: object = {},
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<readonly Stored[]> {
  const bringBack = await takeAway(admin.client, away);
  const made = await makeAll(metadata);
  await meanwhile();
  await bringBack();
  return made;
}

const mayGet = (name: string) => ({
  ...{ apiGroups: [''], resources: ['secrets'], resourceNames: [name], verbs: ['get'] },
});

async function expectNothing(made: readonly Stored[], reason: string): Promise<void> {
  for (const object of made) {
    const seen = await admin.untilRefused(object, reason, { timeoutMs: 60_000 });
    expect(seen.status).not.toHaveProperty('confirmed');
    expect(await admin.find(accessSecretOf(object))).toBeUndefined();
  }
}

beforeAll(async () => {
  await admin.createObject(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  const { instance } = await makeInstance(world, cluster, { namespace, name: 'shop' });
  connected = await admin.untilReady(instance);
  east = await admin.untilReady(
    await admin.create(clusters, { kubeConfigSecretRef: secretRef }, { name: 'victims' }),
  );
  const [, , [resource, spec, place]] = attempts;
  space = await admin.untilReady(await admin.create(resource, spec, place));
  // This role makes all kinds, and reads no Secret.
  mallory = await introduce(world, 'mallory', ['devs']);
  byAdmin = await clientFor(plane, 'platform-admin', ['system:masters']);
  asOperator = await clientFor(plane, 'system:serviceaccount:latchkey-system:latchkey-operator', [
    'system:masters',
  ]);
}, 120_000);

describe('what the operator uses', () => {
  it('stands in status, and the one who asked for it in annotations', async () => {
    expect(connected.status.confirmed).toEqual({ secretRef });
    expect(connected.metadata.annotations).toMatchObject({
      [annotations.requester]: 'platform-admin',
      [annotations.requesterGroups]: expect.stringContaining('system:masters'),
    });
  });

  it.each(attempts)('is refused at the creation: $plural', async (resource, spec, place) => {
    const { status, body } = await mallory.tryCreate(resource, spec, place);
    expect([status, body.message]).toEqual([403, expect.stringContaining('ERR_POLICY_')]);
  });

  it('may be named by an account of a GitOps controller that holds the rights itself', async () => {
    const name = 'system:serviceaccount:argocd:argocd-application-controller';
    const argo = await introduce(world, name, ['system:serviceaccounts', 'system:serviceaccounts:argocd']);
    await give(world, name, mayGet('vc-shop'));
    await give(world, name, { apiGroups: [group], resources: ['clusters'], verbs: ['bind-namespace'] });
    for (const [resource, spec, place] of attempts) {
      const made = await admin.untilReady(await argo.create(resource, spec, place));
      expect(made.metadata.annotations).toMatchObject({ [annotations.requester]: name });
    }
  });
});

describe('without latchkey-target-secrets for a moment', () => {
  let made: readonly Stored[];

  it('nothing is dialled that its creator has no right to, while the operator works', async () => {
    made = await madeWithout([binding]);
    await expectNothing(made, reasons.requesterNotPermitted);
  });

  it('with the right it is, and stays so without', async () => {
    const [instance] = made as [Stored];
    const right = await give(world, 'mallory', mayGet(secretRef.name));
    const ready = await admin.untilReady(instance, { timeoutMs: 90_000 });
    expect(ready.status.confirmed).toEqual({ secretRef });
    await right.take();
    await admin.patch(instance, { spec: { displayName: 'later' } });
    const isObserved = ({ status, metadata }: Stored) => status.observedGeneration === metadata.generation;
    const later = await admin.until(instance, 'checked again', isObserved, { timeoutMs: 60_000 });
    expect(conditionOf(later)).toMatchObject({ status: 'True' });
  }, 120_000);

  it('nor where it says Audit in place of Deny', async () => {
    const answerWith = (action: string) =>
      kubectl(
        'patch',
        binding.kind,
        binding.name,
        '--type=merge',
        '-p',
        `{"spec":{"validationActions":["${action}"]}}`,
      );
    await answerWith('Audit');
    const made = await makeAll();
    await answerWith('Deny');
    await expectNothing(made, reasons.requesterNotPermitted);
  });

  it('nor by an operator that comes later, which believes nothing of that time', async () => {
    await world.killOperator();
    const later = await madeWithout([binding]);
    await world.startOperator();
    await expectNothing(later, reasons.requesterUnknown);
  }, 120_000);
});

describe('a reference that changes after the connection', () => {
  it('is asked about, and what was confirmed stays in use', async () => {
    const kubeConfig = await cluster.adminKubeConfig();
    for (const name of ['mine', 'other'])
      await admin.createObject(secrets, kubeConfigSecret('vcluster', name, kubeConfig, namespace));
    const owner = await introduce(world, 'owner');
    const { take } = await give(world, 'owner', mayGet('vc-mine'));
    const ready = await admin.untilReady(
      await owner.create(virtualClusterInstances, {}, { name: 'mine', namespace }),
    );
    await take();
    await loosen(virtualClusterInstances);
    await until('the definition lets it change', async () => {
      const { status } = await byAdmin.send('PATCH', objectPath(virtualClusterInstances, ready.metadata), {
        body: { spec: { kubeConfigSecretRef: { name: 'vc-other' } } },
        contentType: contentTypes.mergePatch,
      });
      return status === 200;
    });
    const refused = await admin.untilRefused(ready, reasons.requesterNotPermitted, { timeoutMs: 60_000 });
    expect(refused.metadata.annotations).toMatchObject({ [annotations.changedBy]: 'platform-admin' });
    expect(refused.status.confirmed).toEqual(ready.status.confirmed);
    expect(await admin.find(accessSecretOf(ready))).toBeDefined();
    await give(world, 'owner', mayGet('vc-other'));
    const changed = await admin.untilReady(ready, { timeoutMs: 90_000 });
    expect(changed.status.confirmed).toEqual({ secretRef: { ...secretRef, name: 'vc-other' } });
  }, 200_000);
});

describe('without the policies that record who asks', () => {
  it('no one is believed where they were edited and put back while no operator led', async () => {
    await world.killOperator();
    const made = await whileEdited(async () => await makeAll(forged));
    await world.startOperator();
    await expectNothing(made, reasons.requesterUnknown);
  }, 120_000);

  it('no one is believed, and what an earlier release has connected goes on', async () => {
    const away = [binding, ...stamps];
    const first = await madeWithout(away, forged);
    await expectNothing(first, reasons.requesterUnknown);
    const earlier = [connected, east, space];
    await world.killOperator();
    const second = await madeWithout(away, forged, async () => {
      for (const one of earlier) await makeEarlier(one);
    });
    await world.startOperator();
    await expectNothing([...first, ...second], reasons.requesterUnknown);
    for (const one of earlier) {
      const adopted = await admin.until(one, 'confirmed', ({ status }) => 'confirmed' in status);
      expect(adopted.status.confirmed).toEqual(one.status.confirmed);
      expect(adopted.metadata.annotations ?? {}).not.toHaveProperty([annotations.requester]);
      await admin.untilReady(one);
    }
  }, 240_000);
});

/** The policies say nothing for a moment, and keep their time of creation. */
async function whileEdited<T>(work: () => Promise<T>): Promise<T> {
  const pieces = [binding, ...stamps];
  const answerTo = async (matchResources: object | null) => {
    const patch = JSON.stringify({ spec: { matchResources } });
    for (const { kind, name } of pieces) await kubectl('patch', kind, name, '--type=merge', '-p', patch);
  };
  await answerTo({ objectSelector: { matchLabels: { none: 'has-this' } } });
  const made = await work();
  await answerTo(null);
  return made;
}

/** As an earlier release left it: without a word of who asked, and of what is confirmed. */
async function makeEarlier(object: Stored): Promise<void> {
  const names = [annotations.requester, annotations.requesterGroups];
  const none = Object.fromEntries(names.map((name) => [name, null]));
  await until('the annotations are gone', async () => {
    const { metadata } = await admin.annotate(object, none);
    return names.every((name) => metadata.annotations?.[name] === undefined);
  });
  const { status } = await asOperator.send(
    'PATCH',
    `${objectPath(resourceOf(object), object.metadata)}/status`,
    {
      body: { status: { confirmed: null } },
      contentType: contentTypes.mergePatch,
    },
  );
  expect(status).toBe(200);
}

/** As one may who changes definitions. */
async function loosen({ plural }: Resource): Promise<void> {
  const rules = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations';
  const patch = JSON.stringify([{ op: 'remove', path: rules }]);
  await kubectl('patch', 'crd', `${plural}.${group}`, '--type=json', '-p', patch);
}

async function kubectl(...args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await plane.kubectl(args);
  if (exitCode !== 0) throw new Error(stderr);
}
