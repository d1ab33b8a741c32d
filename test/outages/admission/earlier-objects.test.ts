import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { annotations, labels } from '../../../src/api/names.ts';
import {
  clusters,
  ownedAccessKeys,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { type ApiAnswer, adminClient, contentTypes } from '../../integration/admission/api-client.ts';
import { looseDefinitions } from '../../integration/admission/loose-definitions.ts';
import { credentialKinds, objectOf, pathOf, type TestObject } from '../../integration/admission/objects.ts';
import { admissionWorld, create, strip, writers } from '../../integration/admission/world.ts';

const targetKinds = [virtualClusterInstances, clusters, spaceInstances];

const secret = 'lk_secretsecretsecretsecretsecretsecretsecretsecrets';
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Shapes that no schema of ours lets in: left by another version, a restored backup, a hand in etcd. */
const malformed: [string, Record<string, unknown>][] = [
  ['no spec', {}],
  ['a text as spec', { spec: secret }],
  ['a number as spec', { spec: 5 }],
  ['a list as spec', { spec: [{ key: secret }] }],
  ['a number as user', { spec: { user: 5 } }],
  ['a map as user', { spec: { user: { key: secret } } }],
  ['two identities', { spec: { user: 'a', team: 'b' } }],
  ['a map as key', { spec: { key: { key: secret } }, status: { keySource: 'Generated' } }],
  ['a number as generated key', { spec: { key: 5 }, status: { keySource: 'Generated' } }],
  ['a text as secretRef', { spec: { secretRef: 'x', key: secret }, status: { keySource: 'Generated' } }],
  ['a list as scope', { spec: { user: 'a', scope: [] } }],
  [
    'claims that are no texts',
    { spec: { user: 'a', identity: { extraClaims: { plan: { size: 3 }, seats: 3 } } } },
  ],
  ['a text as status', { spec: { user: 'a' }, status: secret }],
  ['a list as status', { spec: { user: 'a' }, status: [] }],
  ['a number as key source', { spec: { user: 'a', key: secret }, status: { keySource: 7 } }],
];

/** Metadata that costs an expression dearly, or that policies of today would not let in. */
const burdened: [string, Record<string, unknown>][] = [
  ['a forged stamp', { annotations: { [annotations.requester]: '', [annotations.createdWith]: '' } }],
  ['a forged label', { labels: { [labels.ephemeral]: 'perhaps' } }],
  ['an empty label', { labels: { [labels.ephemeral]: '' } }],
  ['an annotation full of names', { annotations: { [lastApplied]: '"key"'.repeat(40_000) } }],
  ['an annotation full of keys', { annotations: { [lastApplied]: `"key":"${secret}"`.repeat(4000) } }],
  ['an annotation with login data', { annotations: { [lastApplied]: '{"idToken":"x"}' } }],
  [
    'very many annotations',
    { annotations: Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`a${index}`, ''])) },
  ],
  [
    'very many finalizers',
    { finalizers: Array.from({ length: 2000 }, (_, index) => `example.com/f${index}`) },
  ],
];

/** The same for targets. */
const earlierTargets: [string, { spec?: unknown; metadata?: object }][] = [
  ['no spec', {}],
  ['a text as spec', { spec: 'other' }],
  ['a number as spec', { spec: 5 }],
  ['a list as spec', { spec: [{ kubeConfigSecretRef: { name: 'other' } }] }],
  ['a text as reference', { spec: { kubeConfigSecretRef: 'other', clusterRef: 'east' } }],
  [
    'a number as name',
    { spec: { kubeConfigSecretRef: { namespace: 5, name: 5 }, clusterRef: { cluster: 5 } } },
  ],
  ['a map as name', { spec: { kubeConfigSecretRef: { name: {} }, clusterRef: { virtualCluster: {} } } }],
  ['a reference without a name', { spec: { kubeConfigSecretRef: { namespace: 'latchkey-system' } } }],
  [
    'very many finalizers',
    { metadata: { finalizers: Array.from({ length: 2000 }, (_, i) => `a.com/f${i}`) } },
  ],
];

/** References that a user without any right on Secrets and Clusters would set in them. */
const elsewhere: Record<string, object> = {
  VirtualClusterInstance: { kubeConfigSecretRef: { name: 'somebodys' } },
  Cluster: { kubeConfigSecretRef: { namespace: 'default', name: 'somebodys' } },
  SpaceInstance: { clusterRef: { cluster: 'east', namespace: 'somebodys' } },
};

interface Stored {
  readonly resource: Resource;
  readonly name: string;
  readonly object: TestObject;
}

const earlier: readonly Stored[] = [
  ...credentialKinds.flatMap((resource) => [
    ...malformed.map(([name, fields]) => ({ resource, name, object: { ...bare(resource), ...fields } })),
    ...burdened.map(([name, metadata]) => ({ resource, name, object: bare(resource, metadata) })),
  ]),
  ...targetKinds.flatMap((resource) =>
    earlierTargets.map(([name, { metadata, ...fields }]) => ({
      resource,
      name,
      object: { ...bare(resource, metadata), ...fields } as TestObject,
    })),
  ),
];

const find = ({ kind, name }: { kind: string; name: string }): Stored => {
  const found = earlier.find((entry) => entry.resource.kind === kind && entry.name === name);
  if (found === undefined) throw new Error(`${kind} with ${name} was not stored`);
  return found;
};

const plane = await startControlPlane({ name: 'earlier-objects' });
afterAll(async () => await plane.stop());
await store();
const world = await admissionWorld(plane);
const writer = await world.user('writer', [writers]);

async function store(): Promise<void> {
  await looseDefinitions(plane, [...credentialKinds, ...targetKinds]);
  const admin = await adminClient(plane);
  for (const { resource, object } of earlier) {
    const answer = await admin.send('POST', pathOf(resource), { body: object });
    expect(answer.status).toBe(201);
  }
  await admin.close();
}

describe('objects that were stored before the policies', () => {
  const cases = credentialKinds.flatMap((resource) =>
    [...malformed, ...burdened].map(([name]) => ({ kind: resource.kind, name, resource })),
  );

  it.each(cases)('get through a policy when they are changed: $kind with $name', async (row) => {
    const { resource, object } = find(row);
    const answer = await world.operator.send('PATCH', pathOf(resource, object.metadata.name), {
      body: { metadata: { labels: { touched: 'true' } } },
      contentType: contentTypes.mergePatch,
    });
    expect([200, 422]).toContain(answer.status);
    expectNoPolicyError(answer);
  });

  const stored = async (path: string) => (await world.admin.send('GET', path)).body;

  it.each(cases)('are changed by no one but those they name: $kind with $name', async (row) => {
    const { resource, object } = find(row);
    const path = pathOf(resource, object.metadata.name);
    const before = await stored(path);
    const metadata = { ...before.metadata, labels: { touched: 'twice' } };
    const unread = await writer.send('PUT', path, { body: { ...before, metadata } });
    expect(unread.status).toBe(403);
    expect(unread.body.message).toMatch(/denied request: JSON Patch: Unexpected kind: spec, metadata: only/);
    expect(JSON.stringify(unread.body)).not.toContain(secret);
    const read = await world.bob.send('PATCH', path, {
      body: { metadata: { labels: { touched: 'twice' } } },
      contentType: contentTypes.mergePatch,
    });
    // Of several policies that refuse a request, the API server names any.
    const refusers = [
      'the schema',
      'latchkey-ownership',
      ...(row.name === 'very many annotations' ? ['latchkey-object-size'] : []),
    ];
    expect(refusers).toContain(read.status === 422 ? 'the schema' : refuserOf(read));
    expect(JSON.stringify(read.body)).not.toContain(secret);
    expect((await stored(path)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it.each(cases)('get through a policy when all their metadata is dropped: $kind with $name', async (row) => {
    const { resource, object } = find(row);
    const answer = await world.operator.send('PATCH', pathOf(resource, object.metadata.name), {
      body: { metadata: { labels: null, annotations: null } },
      contentType: contentTypes.mergePatch,
    });
    expect([200, 422]).toContain(answer.status);
    expectNoPolicyError(answer);
  });

  const keys = cases.filter(({ resource, name }) => {
    const spec = malformed.find(([title]) => title === name)?.[1]['spec'] ?? {};
    return resource === ownedAccessKeys && !Array.isArray(spec) && typeof spec === 'object';
  });

  it.each(keys)('are disabled by somebody else, past every policy: $kind with $name', async (row) => {
    const { resource, object } = find(row);
    const answer = await world.bob.send('PATCH', pathOf(resource, object.metadata.name), {
      body: { spec: { disabled: true } },
      contentType: contentTypes.mergePatch,
    });
    expect([200, 422]).toContain(answer.status);
    expectNoPolicyError(answer);
  });

  it.each(cases)('can be deleted and stripped by hand: $kind with $name', async (row) => {
    const { resource, object } = find(row);
    const path = pathOf(resource, object.metadata.name);
    const dryRun = await world.bob.send('DELETE', path, { query: { dryRun: 'All' } });
    expect(dryRun.status).toBe(200);
    expect((await world.bob.send('DELETE', path)).status).toBe(200);
    const stripped = await strip(world.bob, object);
    expect([200, 404]).toContain(stripped.status);
    expect((await world.admin.send('GET', path)).status).toBe(404);
  });
});

describe('targets that were stored before the policies', () => {
  const rows = targetKinds.flatMap(({ kind }) => earlierTargets.map(([name]) => ({ kind, name })));
  const pathTo = (row: (typeof rows)[number]): string => {
    const { resource, object } = find(row);
    return pathOf(resource, object.metadata.name);
  };

  it.each(rows)('are led nowhere else without the right to it: $kind with $name', async (row) => {
    const body = { spec: elsewhere[row.kind] };
    const answer = await world.bob.send('PATCH', pathTo(row), {
      body: [{ op: 'add', path: '/spec', value: body.spec }],
      contentType: contentTypes.jsonPatch,
    });
    expect([403, 422]).toContain(answer.status);
    expect(answer.body.message).not.toMatch(/resulted in error|failed due to/);
  });

  it.each(rows)('get through the policies when they are changed otherwise: $kind with $name', async (row) => {
    const answer = await world.bob.send('PATCH', pathTo(row), {
      body: { metadata: { labels: { touched: 'true' } } },
      contentType: contentTypes.mergePatch,
    });
    expect([200, 422]).toContain(answer.status);
    expect(answer.body.message ?? '').not.toMatch(/denied request|resulted in error/);
  });

  it.each(rows)('can be deleted and stripped by hand: $kind with $name', async (row) => {
    expect((await world.bob.send('DELETE', pathTo(row))).status).toBe(200);
    expect([200, 404]).toContain((await strip(world.bob, find(row).object)).status);
    expect((await world.admin.send('GET', pathTo(row))).status).toBe(404);
  });
});

/** The last of this control plane: what it removes does not come back. */
describe('without the mutating policies', () => {
  const forged = {
    [annotations.requester]: 'alice',
    [annotations.requesterGroups]: '["latchkey-testers","system:authenticated"]',
  };

  beforeAll(async () => {
    const removed = await plane.kubectl(['delete', 'mutatingadmissionpolicybinding', '--all']);
    expect(removed.exitCode).toBe(0);
    await vi.waitFor(async () => expect((await attempt({})).status).toBe(403), 90_000);
  });

  const attempt = async (metadata: object): Promise<ApiAnswer> =>
    await world.alice.send('POST', pathOf(ownedAccessKeys), {
      body: objectOf(ownedAccessKeys, { user: 'alice' }, metadata),
      query: { dryRun: 'All' },
    });
  const place = (name: string): string => `metadata.annotations[${name}]`;

  it.each([
    ['no requester', {}, place(annotations.requester)],
    [
      'another requester',
      { annotations: { ...forged, [annotations.requester]: 'eve' } },
      place(annotations.requester),
    ],
    ['no groups', { annotations: { [annotations.requester]: 'alice' } }, place(annotations.requesterGroups)],
    [
      'other groups',
      { annotations: { ...forged, [annotations.requesterGroups]: '["system:masters"]' } },
      place(annotations.requesterGroups),
    ],
    [
      'the mark of a credential that did not come with the request',
      { annotations: { ...forged, [annotations.createdWith]: 'eves/1' } },
      place(annotations.createdWith),
    ],
    [
      'the mark of a change beyond limits',
      { annotations: { ...forged, [annotations.changedBeyondLimits]: 'eves/1' } },
      place(annotations.changedBy),
    ],
    [
      'the ephemeral label',
      { annotations: forged, labels: { [labels.ephemeral]: 'true' } },
      `metadata.labels[${labels.ephemeral}]`,
    ],
  ])('no one creates an object with %s', async (_, metadata, field) => {
    const answer = await attempt(metadata);
    expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(answer.body.message).toContain(
      `'latchkey-requester-integrity' denied request: ${field}: set by the policy latchkey-`,
    );
  });

  it('an object with the right stamps is accepted', async () => {
    expect((await attempt({ annotations: forged })).status).toBe(201);
  });

  it('no one changes a stamp afterwards', async () => {
    const created = await create(
      world.alice,
      objectOf(ownedAccessKeys, { user: 'alice' }, { annotations: forged }),
    );
    const ofExchange = `${place(annotations.exchangedIssuer)}: set at creation only`;
    for (const [name, problem] of [
      ...[annotations.requester, annotations.requesterGroups, annotations.createdWith].map(
        (stamp) => [stamp, `${place(stamp)}: set by`] as const,
      ),
      [annotations.exchangedIssuer, ofExchange] as const,
      [annotations.exchangedSubject, ofExchange] as const,
    ]) {
      const answer = await world.alice.send('PATCH', pathOf(ownedAccessKeys, created.metadata.name), {
        body: { metadata: { annotations: { [name]: 'eve' } } },
        contentType: contentTypes.mergePatch,
      });
      expect([name, answer.status]).toEqual([name, 403]);
      expect(answer.body.message).toContain(problem);
    }
  });
});

function bare(resource: Resource, metadata: object = {}): TestObject {
  const { spec: _, ...object } = objectOf(resource, {}, metadata);
  return object;
}

/** The validating policy that says it. */
const refuserOf = ({ status, body }: ApiAnswer): string | undefined =>
  status === 403 ? /^[^:]*: ValidatingAdmissionPolicy '([a-z-]+)'/.exec(body.message)?.[1] : undefined;

function expectNoPolicyError(answer: ApiAnswer): void {
  expect(answer.body.message ?? '').not.toMatch(/denied request|resulted in error|with binding/);
}
