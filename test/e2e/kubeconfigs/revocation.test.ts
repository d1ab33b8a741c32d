import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { certificateSigningRequests, clusterRoleBindings, roleBindings } from '../../../src/api/resources.ts';
import { createCertificateRequest } from '../../../src/credentials/certificates/certificate-request.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import {
  bindingOf,
  bindingsPath,
  Holder,
  type Planted,
  Project,
  subjectOf,
  tracesOf,
} from './kubeconfig-world.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin } = world;
const inside = cluster.admin.client;
const holders: Holder[] = [];
let project: Project;

beforeAll(async () => {
  project = await Project.ready(world, cluster);
});

afterAll(async () => {
  for (const holder of holders) await holder.close();
});

interface Issued {
  readonly object: Stored;
  readonly holder: Holder;
}

async function issued(spec: object = {}): Promise<Issued> {
  const object = await project.issued(spec);
  const holder = new Holder(object.status.kubeConfig, cluster);
  holders.push(holder);
  await holder.untilAllowed();
  return { object, holder };
}

/** As the holder does it: with the certificate. */
async function plant(holder: Holder, planted: Planted): Promise<number> {
  const body = bindingOf(planted);
  return await holder.call(bindingsPath(planted.namespace), { method: 'POST', body });
}

/** The holder binds their certificate in each of these places while it is revoked, as user and as group. */
async function expectRebindingInVain(
  { object, holder }: Issued,
  places: readonly Omit<Planted, 'subjects'>[],
): Promise<void> {
  let goesOn = true;
  const answers: number[] = [];
  const attack = async (kind: 'User' | 'Group', place: Omit<Planted, 'subjects'>): Promise<void> => {
    while (goesOn) answers.push(await plant(holder, { subjects: [subjectOf(object, kind)], ...place }));
  };
  const attacks = places.flatMap((place) => [attack('User', place), attack('Group', place)]);
  await until('the holder is at it', async () => answers.filter((answer) => answer === 201).length > 40);
  await admin.delete(object);
  let last = 0;
  try {
    await admin.untilGone(object, { timeoutMs: 90_000 });
    last = answers.length;
    await until('the holder tries in vain', async () => answers.length > last + 100);
  } finally {
    goesOn = false;
    await Promise.all(attacks);
  }
  expect(new Set(answers.slice(last + 8))).toEqual(new Set([403]));
  expect(await tracesOf(object, cluster)).toEqual([]);
}

const ways = (['User', 'Group'] as const).flatMap((kind) =>
  [undefined, 'default'].map((namespace) => ({
    kind,
    namespace,
    title: `as a ${kind} in ${namespace ?? 'the whole cluster'}`,
  })),
);

describe.concurrent('after the deletion of a kubeconfig', () => {
  it('every new request with its certificate is refused, and nothing of it is left', async () => {
    const { object, holder } = await issued();
    await admin.delete(object);
    await admin.untilGone(object);
    expect(await holder.refusals()).toEqual(new Set([403]));
    expect(await tracesOf(object, cluster)).toEqual([]);
  });

  it.each(ways)(
    'this is so when its holder had bound themselves again, $title',
    async ({ kind, namespace }) => {
      const { object, holder } = await issued();
      const subjects = [subjectOf(object, kind)];
      expect(await plant(holder, { subjects, ...(namespace === undefined ? {} : { namespace }) })).toBe(201);
      await admin.delete(object);
      await admin.untilGone(object);
      const path = namespace === undefined ? '/api/v1/namespaces' : '/api/v1/namespaces/default/pods';
      expect(await holder.call(path)).toBe(403);
      expect(await holder.refusals()).toEqual(new Set([403]));
      expect(await tracesOf(object, cluster)).toEqual([]);
    },
  );

  it('this is so when its bindings do not go away, because they have finalizers', async () => {
    const { object, holder } = await issued();
    const name = uniqueName('stubborn');
    const finalizers = ['example.com/never'];
    expect(await plant(holder, { name, subjects: [subjectOf(object, 'User')], finalizers })).toBe(201);
    const own = `latchkey-${object.metadata.uid}-1`;
    await inside.mergePatch(clusterRoleBindings, { name: own }, { metadata: { finalizers } });
    await admin.delete(object);
    await admin.untilGone(object);
    expect(await holder.refusals()).toEqual(new Set([403]));
    for (const left of [name, own])
      await inside
        .mergePatch(clusterRoleBindings, { name: left }, { metadata: { finalizers: null } })
        .catch(() => undefined);
  });

  it('this is so when its holder keeps binding themselves while it is deleted, as fast as they can', {
    concurrent: false,
  }, async () => {
    await expectRebindingInVain(await issued(), [{}, { namespace: 'default' }]);
  });

  it('other subjects of the same bindings keep what they have', async () => {
    const { object, holder } = await issued();
    const bob = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' };
    const planted = [
      { name: uniqueName('shared'), subjects: [subjectOf(object, 'User'), bob] },
      { name: uniqueName('shared'), namespace: 'default', subjects: [bob, subjectOf(object, 'Group')] },
    ];
    for (const each of planted) expect(await plant(holder, each)).toBe(201);
    await admin.delete(object);
    await admin.untilGone(object);
    for (const { name, namespace } of planted) {
      const resource = namespace === undefined ? clusterRoleBindings : roleBindings;
      const key = namespace === undefined ? { name } : { name, namespace };
      const { subjects } = (await inside.get<Stored>(resource, key)) as Stored & { subjects: object[] };
      expect(subjects).toEqual([bob]);
    }
  });

  it('another kubeconfig of the same instance works on', async () => {
    const [kept, gone] = [await issued(), await issued()];
    await admin.delete(gone.object);
    await admin.untilGone(gone.object);
    expect(await kept.holder.call()).toBe(200);
    expect(await tracesOf(kept.object, cluster)).toHaveLength(2);
  });
});

describe.concurrent('after a rotation', () => {
  const rotated = async (object: Stored): Promise<Stored> => {
    await admin.annotate(object, { 'management.platform.sh/rotate': uniqueName('r') });
    const { serial } = object.status;
    return await admin.until(
      object,
      'rotated',
      ({ status }) => status.serial > serial && status.credentialHash,
    );
  };

  it('the old certificate is refused from the first moment of the new one, also bound again', async () => {
    const { object, holder } = await issued();
    expect(await plant(holder, { subjects: [subjectOf(object, 'User'), subjectOf(object, 'Group')] })).toBe(
      201,
    );
    const next = await rotated(object);
    expect(await holder.call()).toBe(403);
    expect(await holder.refusals()).toEqual(new Set([403]));
    const successor = new Holder(next.status.kubeConfig, cluster);
    holders.push(successor);
    await successor.untilAllowed();
    expect(next.status).toMatchObject({ serial: 2, boundSerials: [2] });
  });

  it('nothing waits for the new one that its holder had bound before: serials can be guessed', async () => {
    const viewer = { ...(await issued()) };
    const { object, holder } = viewer;
    expect(
      await plant(holder, { subjects: [subjectOf(object, 'User', 2), subjectOf(object, 'Group', 2)] }),
    ).toBe(201);
    await rotated(object);
    expect(await tracesOf(object, cluster)).toEqual([
      'ClusterRoleBinding latchkey-UID-2',
      'CertificateSigningRequest latchkey-UID-2',
    ]);
  });

  it('a changed spec ends the old certificate in the same way', async () => {
    const { object, holder } = await issued();
    await admin.patch(object, { spec: { server: 'https://elsewhere.example.com' } });
    await admin.until(object, 'confirmed', ({ status }) => status.serial === 2 && status.credentialHash);
    await admin.untilEvent(object, 'Confirmed');
    expect(await holder.refusals()).toEqual(new Set([403]));
  });
});

describe('a signing request that is not ours', () => {
  const make = async (name: string, subject: string, metadata: object = {}): Promise<Stored> => {
    const { request } = createCertificateRequest({ commonName: subject, organization: subject });
    return await inside.create<Stored>(certificateSigningRequests, {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name, ...metadata },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth', 'digital signature'],
      },
    });
  };

  /** Every state of every signing request after this version, until a certificate was issued. */
  const statesFrom = async (resourceVersion: string): Promise<readonly Stored[]> => {
    const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    const query = new URLSearchParams({ watch: 'true', resourceVersion });
    const options = { signal: AbortSignal.timeout(20_000), idleMs: 20_000, maxLineBytes: 2 ** 20 };
    const seen: Stored[] = [];
    for await (const { object } of inside.watch(path, query, options)) {
      seen.push(object as Stored);
      if (seen.at(-1)?.status?.certificate !== undefined) break;
    }
    return seen;
  };

  it('is never approved, whatever its name, its labels and its subject', async () => {
    const { object } = await issued();
    const { uid } = object.metadata;
    const labels = { 'management.platform.sh/owner-uid': uid, 'management.platform.sh/serial': '2' };
    const others = [
      await make(uniqueName('others'), certificateSubject(uid, 1)),
      await make(uniqueName('labelled'), certificateSubject(uid, 2), { labels }),
      await make(`latchkey-${uid}-2`, certificateSubject(uid, 2)),
      await make(uniqueName('admin'), 'system:admin'),
    ];
    const states = statesFrom(others.at(-1)?.metadata.resourceVersion ?? '');
    await admin.annotate(object, { 'management.platform.sh/rotate': 'now' });
    const next = await admin.until(
      object,
      'rotated',
      ({ status }) => status.serial > 1 && status.credentialHash,
    );
    const approved = (await states).filter(({ status }) => status?.conditions !== undefined);
    const uids = new Set(others.map(({ metadata }) => metadata.uid));
    expect(approved.length).toBeGreaterThan(0);
    expect(approved.filter(({ metadata }) => uids.has(metadata.uid))).toEqual([]);
    expect(next.status.serial).toBe(3);
    for (const { metadata } of [others[0], others[1], others[3]] as Stored[]) {
      const { status } = await inside.get<Stored>(certificateSigningRequests, metadata);
      expect(status).toEqual({});
    }
  });

  it('that a webhook made of ours is never approved', async () => {
    // A mutating policy stands for the webhook: it gives every request of ours another life.
    const name = uniqueName('webhook');
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ['certificates.k8s.io'],
              apiVersions: ['v1'],
              operations: ['CREATE'],
              resources: ['certificatesigningrequests'],
            },
          ],
        },
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: "[JSONPatch{op: 'replace', path: '/spec/expirationSeconds', value: 31536000}]",
            },
          },
        ],
      },
    };
    const binding = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    };
    const input = `${JSON.stringify(policy)}\n---\n${JSON.stringify(binding)}`;
    const isActing = async () => {
      const probe = await make(uniqueName('probe'), uniqueName('probe'));
      return probe.spec.expirationSeconds === 31_536_000;
    };
    expect(await cluster.plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
    try {
      await until('the policy acts', isActing);
      const object = await project.create();
      const refused = await admin.untilRefused(object, 'CertificateFailed');
      expect(conditionOf(refused, 'Reconciling')?.message).toContain('admission webhooks');
      await until('nothing is left', async () => (await tracesOf(object, cluster)).length === 0);
      await admin.delete(object);
    } finally {
      await cluster.plane.kubectl(['delete', 'mutatingadmissionpolicybinding', name]);
      await cluster.plane.kubectl(['delete', 'mutatingadmissionpolicy', name]);
      await until('the policy acts no longer', async () => !(await isActing()));
    }
  });
});

describe('after the deletion of a kubeconfig whose role is the admin of namespaces', () => {
  it('a holder who binds themselves in these as fast as they can keeps nothing', async () => {
    await admin.patch(project.instance, { spec: { access: { clusterRole: 'admin' } } });
    const places = ['default', 'kube-public'].map((namespace) => ({ namespace, role: 'admin' }));
    await expectRebindingInVain(await issued(), places);
  });
});
