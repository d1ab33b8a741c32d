import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusterRoleBindings, roleBindings } from '../../../src/api/resources.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { CertificateRevoker } from '../../../src/operator/certificates/certificate-revoker.ts';
import { HastyClock } from './kubeconfig-simulation.ts';
import { MemoryTarget } from './memory-target.ts';

const uid = 'aaaa-1';
const subjects = [{ kind: 'User', name: certificateSubject(uid, 1) }];

/** Every name that API servers take for roles and their bindings (`ValidatePathSegmentName`). */
const someName = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom('.', ' ', '\n', '\0', ':', '?', '#', '&', '+', '=', '\\', '\ufffd'),
      minLength: 1,
    }),
    fc.integer({ min: 250, max: 5_000 }).map((length) => 'x'.repeat(length)),
  )
  .filter((name) => name !== '.' && name !== '..' && !/[/%]/.test(name));

function withStrayBindings(names: readonly string[]): MemoryTarget {
  const target = new MemoryTarget(new HastyClock(0), () => 'works');
  for (const name of names) {
    target.api.create('clusterrolebindings', { metadata: { name }, subjects } as never);
    target.api.create('rolebindings', { metadata: { name, namespace: 'default' }, subjects } as never);
  }
  return target;
}

const revokeIn = (target: MemoryTarget): Promise<boolean> =>
  new CertificateRevoker({} as never, new HastyClock(0)).revoke(target.client, {
    uid,
    serials: [1],
    live: [],
  });

describe('whatever the bindings of a revoked certificate are called', () => {
  it('they are found and deleted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(someName, { maxLength: 6 }), async (names) => {
        const target = withStrayBindings(names);
        await revokeIn(target);
        expect([...target.names('clusterrolebindings'), ...target.names('rolebindings')]).toEqual([]);
      }),
    );
  });

  it('they lose their subjects when a finalizer keeps them', async () => {
    await fc.assert(
      fc.asyncProperty(someName, async (name) => {
        const target = withStrayBindings([]);
        const metadata = { name, finalizers: ['example.com/never'] };
        const { api } = target;
        api.create('clusterrolebindings', { metadata, subjects } as never);
        await revokeIn(target);
        expect(api.find('clusterrolebindings', name)).toMatchObject({ subjects: [] });
      }),
    );
  });

  it('the pages that list them follow one another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(someName, { maxLength: 6 }), async (names) => {
        const { client } = withStrayBindings(names);
        for (const resource of [clusterRoleBindings, roleBindings]) {
          const found: string[] = [];
          let next: string | undefined;
          do {
            const page = await client.list<KubeObject>(resource, {
              limit: 1,
              ...(next && { continue: next }),
            });
            found.push(...page.items.map(({ metadata }) => metadata.name));
            next = page.metadata.continue;
          } while (next);
          expect(found.sort()).toEqual(names.toSorted());
        }
      }),
    );
  });
});

describe('a virtual cluster in memory is believed as little as any other', () => {
  it.each(['', '.', '..', 'a/b', 'a%2fb', 'a\ud800', 5, null])('when it lists the name %j', async (name) => {
    const target = withStrayBindings(['a']);
    const [binding] = target.api.all('clusterrolebindings');
    Object.assign(binding?.metadata ?? {}, { name });
    await expect(revokeIn(target)).rejects.toMatchObject({ problem: { reason: 'TargetAnswer' } });
  });
});

/** The second half of a surrogate pair stands for a byte that is no UTF-8. */
const oddName = fc
  .string({
    unit: fc.constantFrom('a', 'ä', '😀', '\udc80', '\udcff', '\ufffd', '\uffff', '.', '\u0001'),
    minLength: 1,
    maxLength: 4,
  })
  .filter((name) => name !== '.' && name !== '..');

const strangers = [{ kind: 'User', name: 'bob' }];

const revocationIn = (target: MemoryTarget): Promise<string> =>
  revokeIn(target).then(
    () => 'revoked',
    (error: unknown) => (error as { problem: { reason: string } }).problem.reason,
  );

const deadIn = ({ api }: MemoryTarget): readonly unknown[] =>
  ['clusterrolebindings', 'rolebindings']
    .flatMap((plural) => api.all(plural))
    .filter((binding) => JSON.stringify(binding).includes(uid));

interface SomeBinding {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly isDead: boolean;
  readonly isLarge: boolean;
  readonly finalizers: readonly string[];
}

function plant({ api }: MemoryTarget, { name, namespace, isDead, isLarge, finalizers }: SomeBinding): void {
  const place = namespace === undefined ? {} : { namespace };
  api.create(namespace === undefined ? 'clusterrolebindings' : 'rolebindings', {
    metadata: { name, finalizers, ...place },
    subjects: isDead ? subjects : strangers,
    padding: 'x'.repeat(isLarge ? 1_500 : 0),
  } as never);
}

describe('names that no request can hold', () => {
  const someBindings = fc.uniqueArray(
    fc.record({
      name: oddName,
      namespace: fc.constantFrom(undefined, 'default', 'default-2'),
      isDead: fc.boolean(),
      isLarge: fc.boolean(),
      finalizers: fc.constantFrom([], [], ['example.com/never']),
    }),
    { selector: ({ name, namespace }) => `${namespace}/${name}`, maxLength: 12 },
  );

  it('never let a revocation succeed with a binding in force, nor take a binding of others along', async () => {
    const outcomes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(someBindings, async (bindings) => {
        const target = withStrayBindings([]);
        target.maxListBytes = 4_000;
        for (const binding of bindings) plant(target, binding);
        const outcome = await revocationIn(target);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (outcome === 'revoked') expect(deadIn(target)).toEqual([]);
        const left = [...target.names('clusterrolebindings'), ...target.names('rolebindings')];
        const others = bindings.filter(({ isDead }) => !isDead).map(({ name }) => name);
        expect(left).toEqual(expect.arrayContaining(others));
      }),
      { numRuns: 300 },
    );
    expect([...outcomes.keys()].sort()).toEqual(['TargetAnswer', 'revoked']);
  });

  it.each<[string, readonly string[]]>([
    ['unknown bytes', ['a\udc80']],
    ['unknown bytes side by side', ['a\udc80', 'a\udc81', 'a\udc81b', 'b\udc80']],
    ['a length that no address has', ['\u0001'.repeat(400_000)]],
  ])('with %s are removed by their place', async (_, names) => {
    const target = withStrayBindings(names);
    target.api.create('clusterrolebindings', { metadata: { name: 'a' }, subjects: strangers } as never);
    await revokeIn(target);
    expect(deadIn(target)).toEqual([]);
    expect(target.names('clusterrolebindings')).toEqual(['a']);
  });

  it("are reported when a stranger's stands before them that only unknown bytes tell apart", async () => {
    const target = withStrayBindings(['a\udc81']);
    target.api.create('clusterrolebindings', { metadata: { name: 'a\udc80' }, subjects: strangers } as never);
    await expect(revokeIn(target)).rejects.toMatchObject({ problem: { reason: 'TargetAnswer' } });
    await expect(revokeIn(target)).rejects.toThrow(/still in force/);
    expect(target.names('clusterrolebindings').sort()).toEqual(['a\udc80', 'a\udc81']);
    expect(target.names('rolebindings')).toEqual([]);
  });

  it('hide nothing behind the end of a page', async () => {
    const target = withStrayBindings(['\ue000hidden']);
    const create = (name: string, padding = '') =>
      target.api.create('clusterrolebindings', { metadata: { name }, subjects: strangers, padding } as never);
    for (const name of ['a', 'b', 'c', '\udc80']) create(name, 'x'.repeat(1_400_000));
    await revokeIn(target);
    expect(deadIn(target)).toEqual([]);
  });

  it('at which no list can go on are reported', async () => {
    const target = withStrayBindings(['\ue000hidden']);
    const create = (name: string) =>
      target.api.create('clusterrolebindings', {
        metadata: { name },
        subjects: strangers,
        padding: 'x'.repeat(4_300_000),
      } as never);
    create('\udc80');
    await expect(revokeIn(target)).rejects.toThrow(/cannot go on/);
    expect(target.names('rolebindings')).toEqual([]);
  });

  it('are never deleted by place without the body that says which, as behind some proxies', async () => {
    const target = withStrayBindings(['a\udc80']);
    target.api.create('clusterrolebindings', { metadata: { name: 'b' }, subjects: strangers } as never);
    target.withoutBodies = true;
    await expect(revokeIn(target)).rejects.toMatchObject({ problem: { reason: 'TargetAnswer' } });
    expect(target.names('clusterrolebindings')).toEqual(['a\udc80', 'b']);
  });
});
