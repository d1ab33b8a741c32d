import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { fieldsByManager } from '../../../lab/operator/fields-by-manager.ts';
import { kubectlOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { fieldManager } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';

const world = await operatorWorld();
const user = await world.user('manager-user');
const kubectl = await kubectlOf(world, 'manager-user');

describe('two field managers with server-side apply', () => {
  it('work on one key for 100 rounds without a conflict, and the operator beside them', async () => {
    const { spec: _, ...manifest } = manifestOf(ownedAccessKeys);
    kubectl.track(manifest);
    const { name } = manifest.metadata;
    const apply = async (manager: string, labels: object, spec: object) =>
      await user.api.client.apply<Stored>(
        ownedAccessKeys,
        { name },
        { ...manifest, metadata: { name, labels }, spec },
        { fieldManager: manager },
      );

    for (let round = 1; round <= 100; round += 1) {
      const owner = { user: 'alice', displayName: `round ${round}`, ttl: 3_600 + round };
      await apply('team-platform', { round: String(round) }, owner);
      await apply(
        'team-security',
        { reviewed: String(round) },
        { scope: { projects: [{ project: `p${round}` }] } },
      );
    }

    const after = await world.admin.untilReady(manifest);
    expect(after.status).toMatchObject({ serial: 1, confirmedTTL: 3_700, keySource: 'Generated' });
    expect(after.spec).toMatchObject({
      displayName: 'round 100',
      scope: { projects: [{ project: 'p100' }] },
    });
    const owned = fieldsByManager(after);
    expect(owned['team-platform']).toEqual(
      expect.arrayContaining(['.spec.user', '.spec.displayName', '.spec.ttl', '.metadata.labels.round']),
    );
    expect(owned['team-security']).toEqual(
      expect.arrayContaining(['.spec.scope', '.metadata.labels.reviewed']),
    );
    expect(owned[fieldManager]?.filter((field) => !field.startsWith('.status'))).toEqual(['.spec.key']);
    const all = Object.values(owned).flat();
    expect(all.filter((field, i) => all.indexOf(field) !== i)).toEqual([]);
  });

  it('meet a conflict only where both claim a field', async () => {
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', ttl: 600 });
    await kubectl.send('apply', manifest, '--server-side', '--field-manager=one');
    await world.admin.untilReady(manifest);
    const other = { ...manifest, spec: { ttl: 700 } };
    const { exitCode, stderr } = await kubectl.trySend(
      'apply',
      other,
      '--server-side',
      '--field-manager=two',
    );
    expect(exitCode).toBe(1);
    expect(stderr).toContain('conflict with "one": .spec.ttl');
    await kubectl.send('apply', other, '--server-side', '--field-manager=two', '--force-conflicts');
    await world.admin.until(manifest, 'the ttl of the second', ({ status }) => status.confirmedTTL === 700);
  });
});
