import { afterAll, describe, expect, it } from 'vitest';
import { conditionOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { kubectlOf } from '../../../lab/operator/kubectl.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { secrets } from '../../../src/api/resources.ts';
import { expectConfirmed, expectNothingConfirmed } from './nothing-confirmed.ts';

const world = await operatorWorld();
const { admin } = world;
const alice = (await world.user('alice')).api;
const bob = (await world.user('bob')).api;
const kubectl = await kubectlOf(world, 'bob');

/** Waits for the refusal and resolves with what people read about it. */
const refusal = async (object: Stored, reason: string, type = 'Warning'): Promise<string | undefined> => {
  const refused = await admin.untilRefused(object, reason);
  expectNothingConfirmed(refused);
  const event = await admin.untilEvent(refused, reason);
  expect(event).toMatchObject({ type, note: conditionOf(refused)?.message });
  return conditionOf(refused)?.message;
};

afterAll(async () => {
  const key = await alice.createKey();
  expectConfirmed(await admin.untilReady(key));
});

describe('a reference to an access key', () => {
  it('that does not exist is waited for', async () => {
    const accessKey = world.name('later');
    const [token, key] = [await alice.createToken({ accessKey }), await alice.createKey({ accessKey })];
    for (const child of [token, key]) {
      // Objects that are applied together come in any order, so the first seconds are no reason to warn.
      expect(await refusal(child, reasons.accessKeyNotFound, 'Normal')).toBe(
        'spec.accessKey names an OwnedAccessKey that does not exist: create that key, or create this object under another.',
      );
    }
    await alice.createKey({ user: 'alice' }, { name: accessKey });
    for (const child of [token, key]) expectConfirmed(await admin.untilReady(child));
  });
});

describe('a token', () => {
  it('of more than 6 KiB is not issued until its scope is shorter', async () => {
    const projects = Array.from({ length: 100 }, (_, i) => ({ project: `project-${i}-${'x'.repeat(60)}` }));
    const token = await alice.createToken({ scope: { projects } });
    expect(await refusal(token, reasons.tokenTooLarge)).toBe(
      'The token would be larger than 6 KiB: shorten spec.scope, spec.rules, or the scopes of the access keys above.',
    );
    await alice.patch(token, { spec: { scope: { projects: projects.slice(0, 10) } } });
    const { status } = await admin.untilReady(token);
    expect(status.token.length).toBeLessThan(6 * 1024);
  });

  it.each([
    ['kubeadm:somebody', []],
    [' space', []],
  ])('for the requester %j is refused: it needs an access key', async (user, groups) => {
    const kubeconfig = await world.plane.kubeconfigFor(user, [...groups, 'system:masters']);
    const name = world.name('token');
    const manifest = {
      apiVersion: 'management.platform.sh/v1',
      kind: 'DirectClusterEndpointToken',
      metadata: { name },
    };
    kubectl.track(manifest);
    const { exitCode, stderr } = await world.plane.kubectl(['create', '-f', '-'], {
      kubeconfig,
      input: JSON.stringify(manifest),
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const message = await refusal(await admin.get(manifest), reasons.requesterNotAllowed);
    expect(message).toBe(
      `${JSON.stringify(user)} cannot have a credential of its own; set spec.accessKey to the access key that this one belongs to`,
    );
  });
});

describe('a reference to a Secret', () => {
  it('in a namespace that does not exist says so', async () => {
    const secretRef = { namespace: world.name('nowhere'), name: 'credential' };
    for (const object of [
      await alice.createKey({ user: 'alice', secretRef }),
      await alice.createToken({ secretRef }),
    ]) {
      expect(await refusal(object, reasons.secretFailed)).toBe(
        'The namespace in spec.secretRef does not exist: create it, or name another.',
      );
      await alice.patch(object, {
        spec: { secretRef: { namespace: 'default', name: world.name('somewhere') } },
      });
      expectConfirmed(await admin.untilReady(object));
    }
  });

  it.each(['the Secret of another key', 'a Secret with the labels of another'])(
    'that is %s is refused, and that Secret stays as it was',
    async (whose) => {
      const place = { namespace: 'default', name: world.name('taken') };
      const owner = await alice.createKey({
        user: 'alice',
        secretRef: { ...place, name: world.name('own') },
      });
      await admin.untilReady(owner);
      const theirs = await taken(whose, place, owner);
      const before = await admin.get(secretAt(theirs.namespace, theirs.name));
      for (const object of [
        await bob.createKey({ user: 'bob', secretRef: theirs }),
        await bob.createToken({ secretRef: theirs }),
      ]) {
        expect(await refusal(object, reasons.secretConflict)).toBe(
          'spec.secretRef names a Secret that Latchkey did not make for this object: delete it, or name another.',
        );
      }
      expect(await admin.get(secretAt(theirs.namespace, theirs.name))).toEqual(before);
    },
  );

  const taken = async (whose: string, place: { namespace: string; name: string }, owner: Stored) => {
    if (whose === 'the Secret of another key') return owner.spec.secretRef as typeof place;
    const { namespace, name } = owner.spec.secretRef;
    const { labels } = (await admin.get(secretAt(namespace, name))).metadata;
    await admin.createObject(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...place, labels },
      stringData: { key: 'theirs' },
    });
    return place;
  };
});
