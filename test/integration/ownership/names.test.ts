import { expect, it } from 'vitest';
import {
  ownedAccessKeys as keys,
  virtualClusterInstanceKubeConfigs as kubeConfigs,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { hashOfOwnKey, objectOf, pathOf, uniqueName } from '../admission/objects.ts';
import { admissionWorld } from '../admission/world.ts';
import { peopleOf } from './people.ts';

const { alice, mallory, quinn, root } = await peopleOf(await admissionWorld());
const key = hashOfOwnKey();
const secretRef = { namespace: 'payments', name: 'till' };
const own = { user: 'mallory', key };

it.each<[string, Resource, Record<string, unknown>, string]>([
  ['a user', keys, { user: 'bob', key }, 'user "bob"'],
  ['a team', keys, { team: 'red', key, scope: {} }, 'team "red"'],
  ['a subject', keys, { subject: 'robot', key, scope: {} }, 'subject "robot"'],
  ['a group', keys, { ...own, groups: ['ops'], scope: {} }, 'group "ops"'],
  ['a name with a quote', keys, { user: 'o"bob', key }, 'user "o\\"bob"'],
  ['a Secret', keys, { user: own.user, secretRef }, 'Secret "payments/till"'],
  ['an instance', kubeConfigs, { virtualClusterInstance: 'shop' }, 'virtualclusterinstance "default/shop"'],
  [
    'the Secret of an instance',
    virtualClusterInstances,
    { kubeConfigSecretRef: { name: 'vc-shop' } },
    'Secret "default/vc-shop"',
  ],
  ['a Cluster', spaceInstances, { clusterRef: { cluster: 'west', namespace: 'a' } }, 'Cluster "west"'],
])('a refusal names who asked, and %s', async (_, resource, spec, named) => {
  const { status, body } = await mallory.send('POST', pathOf(resource), { body: objectOf(resource, spec) });
  expect(status).toBe(403);
  expect(body.message).toMatch(/ \(requester "mallory", .*\)$/);
  expect(body.message).toContain(named);
});

it('a refusal about the key itself names who asked, and the object', async () => {
  const name = uniqueName('unread');
  const body = objectOf(keys, { user: 'quinn' }, { name });
  const { status, body: answer } = await quinn.send('POST', pathOf(keys), { body });
  expect(status).toBe(403);
  expect(answer.message).toMatch(/ \(requester "quinn"\)$/);
  expect(answer.message).toContain(`"${name}"`);
});

it.each([
  ['may get it', root, /^(?!.*JSON Patch).* \(requester "root"\)$/],
  ['may not', mallory, /JSON Patch: .* \(requester "mallory", object "ownedaccesskeys\/.*"\)$/],
])(
  'a refusal to change a key names who asked, and the key, in plain words to who %s',
  async (_, who, words) => {
    const made = await alice.send('POST', pathOf(keys), {
      body: objectOf(keys, { user: 'alice', key: hashOfOwnKey() }),
    });
    const { name } = made.body.metadata;
    const body = { ...made.body, spec: { ...made.body.spec, description: 'changed' } };
    const { status, body: answer } = await who.send('PUT', pathOf(keys, name), { body });
    expect(status).toBe(403);
    expect(answer.message).toMatch(words);
    expect(answer.message).toContain(`${name}"`);
  },
);
