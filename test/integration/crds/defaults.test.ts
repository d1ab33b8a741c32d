import { describe, expect, it } from 'vitest';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { crdWorld, keyOf, kinds, type Stored, succeed } from './world.ts';

const world = await crdWorld();

const pending = {
  observedGeneration: -1,
  state: 'Waiting',
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'Waiting for the operator',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
};
const scoped = [ownedAccessKeys, directClusterEndpointTokens] as const;

describe('a new object', () => {
  it.each(kinds)('of $kind is Ready=Unknown', async (resource) => {
    const { status } = await world.store(resource, manifestOf(resource));
    expect(status).toEqual(pending);
  });

  it.each(kinds)('of $kind cannot bring a status of its own', async (resource) => {
    const forged = { ...manifestOf(resource), status: { observedGeneration: 1, fingerprint: 'v1:forged' } };
    const { status } = await world.store(resource, forged);
    expect(status).toEqual(pending);
  });

  it.each(kinds.filter((kind) => kind !== ownedAccessKeys))('of $kind has a spec', async (resource) => {
    const { spec: _, ...withoutSpec } = manifestOf(resource);
    expect((await world.store(resource, withoutSpec)).spec).toEqual({});
    const nullSpec = await world.store(resource, manifestOf(resource, null));
    expect(nullSpec.spec).toEqual({});
  });

  it.each(kinds)('of $kind counts its generations by spec, not by status', async (resource) => {
    const stored = await world.store(resource, manifestOf(resource));
    const patch = { status: { observedGeneration: 1 } };
    const patched = await world.operator.mergePatch<Stored>(resource, keyOf(stored), patch, {
      subresource: 'status',
    });
    expect([patched.metadata.generation, patched.status.observedGeneration]).toEqual([1, 1]);
  });
});

describe('null', () => {
  const identity = (resource: object): object => (resource === ownedAccessKeys ? { user: 'a' } : {});

  it.each(scoped)(
    'as scope of a new $kind stays null, which is not the same as no scope',
    async (resource) => {
      const { spec } = await world.store(
        resource,
        manifestOf(resource, { ...identity(resource), scope: null }),
      );
      expect(spec).toHaveProperty('scope', null);
    },
  );

  it.each(scoped)(
    'as scope of a $kind can be written by replace and by server-side apply',
    async (resource) => {
      const open = { ...identity(resource), scope: { projects: [{ project: '*' }] } };
      const shut = { ...identity(resource), scope: null };
      const replaced = await world.store(resource, manifestOf(resource, open));
      const after = await world.admin.replace<Stored>(resource, keyOf(replaced), { ...replaced, spec: shut });
      expect(after.spec).toHaveProperty('scope', null);

      const applied = await world.store(resource, manifestOf(resource, open));
      const manifest = { ...manifestOf(resource, shut), metadata: { name: applied.metadata.name } };
      const options = { fieldManager: 'argocd', force: true };
      const result = await world.admin.apply<Stored>(resource, keyOf(applied), manifest, options);
      expect(result.spec).toHaveProperty('scope', null);
    },
  );

  it('as scope in a merge patch removes it, by the definition of merge patches', async () => {
    const stored = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys, { user: 'a', scope: {} }));
    const patched = await world.admin.mergePatch<Stored>(ownedAccessKeys, keyOf(stored), {
      spec: { scope: null },
    });
    expect(patched.spec).not.toHaveProperty('scope');
  });

  it('as scope survives kubectl create and kubectl apply --server-side', async () => {
    for (const command of [['create'], ['apply', '--server-side']]) {
      const manifest = manifestOf(ownedAccessKeys, { user: 'a', scope: null });
      const flags = [...command, '--dry-run=server', '-o', 'json', '-f', '-'];
      const output = await succeed(world.plane.kubectl(flags, { input: JSON.stringify(manifest) }));
      expect((JSON.parse(output) as Stored).spec).toHaveProperty('scope', null);
    }
  });

  it('of any other field means absent, as clients in Go send it', async () => {
    const nulls = {
      user: 'a',
      team: null,
      groups: null,
      key: null,
      ttl: null,
      secretRef: null,
      identity: null,
    };
    const { spec } = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys, nulls));
    expect(spec).toEqual({ user: 'a' });
  });
});

describe('a field that no schema knows', () => {
  it.each(kinds)('is not stored in a $kind', async (resource) => {
    const { spec } = await world.store(
      resource,
      manifestOf(resource, { user: 'a', unknown: 1, accessPoint: {} }),
    );
    expect(spec).not.toHaveProperty('unknown');
  });
});
