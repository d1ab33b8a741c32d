import { beforeAll, describe, expect, it } from 'vitest';
import { fieldManager } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import type { ApiAnswer, ApiClient } from '../admission/api-client.ts';
import { hashOfOwnKey, pathOf, type TestObject, unreadObjectOf } from '../admission/objects.ts';
import { apply, mergePatch, put } from '../admission/requests.ts';
import { admissionWorld, create, read, writeStatus } from '../admission/world.ts';
import { withoutNames } from './answers.ts';
import { grant, groupOf } from './grants.ts';
import { peopleOf } from './people.ts';

const key = 'lk_plainplainplainplainplainplainplainplainplainplai';
const said = ({ body }: ApiAnswer): string => withoutNames(String(body.message));

describe('who manages a field', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);
  const stays =
    'metadata.managedFields: the manager latchkey-operator stands for what the operator wrote in spec.key and spec.disabled; use another field manager, and leave managedFields as they stand';
  let disabled: TestObject;
  beforeAll(async () => {
    const spec = { user: 'alice', groups: ['ops'], scope: {} };
    const target = await create(people.carol, unreadObjectOf(ownedAccessKeys, spec));
    expect((await mergePatch(people.root, target, { spec: { disabled: true } })).status).toBe(200);
    disabled = await read(world, target);
  });

  it('is not forged by the owner so that the operator enables what an administrator disabled', async () => {
    expect(await put(people.alice, disabled, { disabled: false })).toMatchObject({ status: 403 });
    const entries = disabled.metadata['managedFields'] as object[];
    const forged = entries.map((entry) =>
      JSON.stringify(entry).includes('f:disabled') ? { ...entry, manager: fieldManager } : entry,
    );
    const answer = await put(people.alice, disabled, {}, { managedFields: forged });
    expect({ status: answer.status, said: said(answer) }).toEqual({ status: 403, said: stays });
  });

  it('stays with the operator when the owner sends it back or hides it', async () => {
    const taken = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice' }));
    await mergePatch(people.operator, taken, { spec: { key, disabled: true } }, { fieldManager });
    expect((await put(people.alice, await read(world, taken), { description: 'mine' })).status).toBe(200);
    const hidden = await put(people.alice, await read(world, taken), {}, { managedFields: [{}] });
    expect(hidden.status).toBe(200);
    expect((await put(people.alice, await read(world, taken), { disabled: false })).status).toBe(200);
  });

  it.each([
    ['a key', { user: 'alice', key }],
    ['disabled', { user: 'alice', disabled: true }],
  ])('cannot be the operator for somebody else who sets %s', async (_, spec) => {
    const body = unreadObjectOf(ownedAccessKeys, spec);
    const answer = await people.alice.send('POST', pathOf(ownedAccessKeys), {
      body,
      query: { fieldManager },
    });
    expect({ status: answer.status, said: said(answer) }).toEqual({ status: 403, said: stays });
  });
});

describe('an update that changes nothing', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);
  const kinds = [
    [ownedAccessKeys, { user: 'alice', key }],
    [directClusterEndpointTokens, {}],
    [virtualClusterInstanceKubeConfigs, { virtualClusterInstance: 'usable' }],
  ] as const;

  it.each(kinds)(
    'is open to those who read $kind, as a migration does that encrypts all objects again',
    async (resource, spec) => {
      const target = await read(world, await create(people.alice, unreadObjectOf(resource, spec)));
      expect((await put(people.root, target, {})).status).toBe(200);
      const kept = await read(world, target);
      const { uid, resourceVersion } = kept.metadata;
      expect({ ...kept, metadata: { ...kept.metadata, resourceVersion: undefined } }).toEqual({
        ...target,
        metadata: { ...target.metadata, resourceVersion: undefined },
      });
      const { spec: _, ...bare } = target;
      const manager = 'storage-version-migrator-controller';
      const migration = await apply(people.root, bare, manager, { uid, resourceVersion });
      expect({ status: migration.status, said: said(migration) }).toEqual({ status: 200, said: 'undefined' });
      expect(await read(world, target)).toEqual(kept);
    },
  );

  it.each(kinds)('shows $kind to no one else', async (resource, spec) => {
    const target = await read(world, await create(people.alice, unreadObjectOf(resource, spec)));
    for (const client of [people.mallory, people.warden]) {
      const answer = await put(client, target, {});
      expect(answer.status).toBe(403);
      expect(JSON.stringify(answer.body)).not.toContain(key);
    }
  });

  it('takes no part in a field', async () => {
    const target = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice', key }));
    const answer = await apply(people.root, { ...target, spec: { user: 'alice' } }, 'root');
    expect(answer.status).toBe(403);
  });
});

describe('a user who revokes and updates, but neither reads nor patches', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);
  let revoker: ApiClient;
  beforeAll(async () => {
    const rules = [
      { apiGroups: ['management.platform.sh'], resources: ['*'], verbs: ['delete', 'revoke', 'update'] },
    ];
    await grant(world, [groupOf('ownership-tests-revoker', rules)]);
    revoker = await world.user('revoker', ['ownership-tests-revoker']);
  });

  it('does not read a generated key out of a PUT that leaves it out and turns it off', async () => {
    const target = await create(
      people.alice,
      unreadObjectOf(ownedAccessKeys, { user: 'alice' }, { labels: {} }),
    );
    await mergePatch(people.operator, target, { spec: { key } }, { fieldManager });
    await writeStatus(world, target, { keySource: 'Generated' });
    const { apiVersion, kind, metadata } = await read(world, target);
    const { name, resourceVersion, labels } = metadata;
    const body = { apiVersion, kind, metadata: { name, resourceVersion, labels }, spec: { disabled: true } };
    const answer = await revoker.send('PUT', pathOf(ownedAccessKeys, name), { body });
    expect(JSON.stringify(answer.body)).not.toContain(key);
    expect(answer.status).toBe(403);
    expect((await revoker.send('DELETE', pathOf(ownedAccessKeys, name))).status).toBe(200);
  });
});

const hash = hashOfOwnKey();

describe('a body that says two things', async () => {
  const world = await admissionWorld();
  await peopleOf(world);

  it.each([
    ['a user', `{"user":"mallory","user":"alice","key":"${hash}"}`],
    ['a spec', `{"user":"alice"},"spec":{"user":"mallory","key":"${hash}"}`],
  ])('is judged by what is stored: %s twice', async (_, spec) => {
    const { metadata, apiVersion, kind } = unreadObjectOf(ownedAccessKeys);
    const head = JSON.stringify({ apiVersion, kind, metadata }).slice(0, -1);
    const as = ['--as=mallory', '--as-group=ownership-tests-everyone'];
    const path = `${pathOf(ownedAccessKeys)}?fieldValidation=Ignore`;
    const { exitCode } = await world.plane.kubectl(['create', ...as, '--raw', path, '-f', '-'], {
      input: `${head},"spec":${spec}}`,
    });
    const { status, body } = await world.admin.send('GET', pathOf(ownedAccessKeys, metadata.name));
    expect({ exitCode: exitCode === 0, stored: status === 200, user: body.spec?.user }).toEqual(
      exitCode === 0
        ? { exitCode: true, stored: true, user: 'mallory' }
        : { exitCode: false, stored: false, user: undefined },
    );
  });
});

describe('fields that are null', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  it.each([
    ['spec', null],
    ['identity', { user: null, team: null, subject: null }],
    [
      'everything else',
      { groups: null, key: null, secretRef: null, accessKey: null, disabled: null, ttl: null },
    ],
  ])('count as absent, and the key is that of its maker: %s', async (_, spec) => {
    const body = { ...unreadObjectOf(ownedAccessKeys), spec };
    const answer = await people.root.send('POST', pathOf(ownedAccessKeys), { body });
    expect({ status: answer.status, spec: answer.body.spec }).toEqual({
      status: 201,
      spec: { user: 'root' },
    });
  });

  it('take nothing off a key: scope', async () => {
    const spec = { user: 'mallory', scope: null, key: hash };
    const target = await create(people.mallory, unreadObjectOf(ownedAccessKeys, spec));
    expect(target.spec).toEqual(spec);
  });
});
