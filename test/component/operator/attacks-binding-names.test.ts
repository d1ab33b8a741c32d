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

function plantedIn(names: readonly string[]): MemoryTarget {
  const target = new MemoryTarget(new HastyClock(0), () => 'works');
  for (const name of names) {
    target.api.create('clusterrolebindings', { metadata: { name }, subjects } as never);
    target.api.create('rolebindings', { metadata: { name, namespace: 'default' }, subjects } as never);
  }
  return target;
}

const withdrawnFrom = (target: MemoryTarget): Promise<void> =>
  new CertificateRevoker({} as never, new HastyClock(0)).revoke(target.client, {
    uid,
    serials: [1],
    live: [],
  });

describe('whatever the bindings of a withdrawn certificate are called', () => {
  it('they are found and deleted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(someName, { maxLength: 6 }), async (names) => {
        const target = plantedIn(names);
        await withdrawnFrom(target);
        expect([...target.names('clusterrolebindings'), ...target.names('rolebindings')]).toEqual([]);
      }),
    );
  });

  it('they lose their subjects when a finalizer keeps them', async () => {
    await fc.assert(
      fc.asyncProperty(someName, async (name) => {
        const target = plantedIn([]);
        const metadata = { name, finalizers: ['example.com/never'] };
        const { api } = target;
        api.create('clusterrolebindings', { metadata, subjects } as never);
        await withdrawnFrom(target);
        expect(api.find('clusterrolebindings', name)).toMatchObject({ subjects: [] });
      }),
    );
  });

  it('the pages that list them follow one another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(someName, { maxLength: 6 }), async (names) => {
        const { client } = plantedIn(names);
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
    const target = plantedIn(['a']);
    const [binding] = target.api.all('clusterrolebindings');
    Object.assign(binding?.metadata ?? {}, { name });
    await expect(withdrawnFrom(target)).rejects.toMatchObject({ problem: { reason: 'TargetAnswer' } });
  });
});
