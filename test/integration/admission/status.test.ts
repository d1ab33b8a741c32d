import { describe, expect, it } from 'vitest';
import {
  clusters,
  directClusterEndpointTokens,
  ownedAccessKeys,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { withoutNames } from '../ownership/answers.ts';
import { type ApiAnswer, type ApiClient, contentTypes } from './api-client.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { mergePatch } from './requests.ts';
import { admissionWorld, create, expectOk, made, read, serviceAccountUser, writeStatus } from './world.ts';

const allKinds = [
  ownedAccessKeys,
  directClusterEndpointTokens,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
  spaceInstances,
  clusters,
];
const onlyLatchkey = 'status: only Latchkey writes it; change spec instead';
const onlyLastActivity =
  'status: latchkey-activity writes status.lastActivity of an OwnedAccessKey and nothing else';
const onlyLater = 'status.lastActivity: only a later time than the recorded one may be written';
const notInFuture =
  'status.lastActivity: lies more than 60 seconds in the future; check the clock of the gateway';

const activity = (lastActivity: string | undefined) => (lastActivity === undefined ? {} : { lastActivity });
const secondsFromNow = (seconds: number): string => {
  const instant = new Date(Date.now() + seconds * 1000);
  return instant.toISOString();
};

describe('status', async () => {
  const world = await admissionWorld();

  describe.each(allKinds)('of a $kind', (resource) => {
    const newObject = async (): Promise<TestObject> =>
      expectOk(await world.admin.send('POST', pathOf(resource), { body: objectOf(resource) }));

    it.each([
      ['the administrator of the control plane', 'platform-admin', ['system:masters']],
      ['an administrator of the platform', 'alice', ['latchkey-testers']],
      ['the gateway', serviceAccountUser('latchkey-gateway'), ['latchkey-testers']],
      ['the reader', serviceAccountUser('latchkey-reader'), ['latchkey-testers']],
      [
        'an account with the operator name elsewhere',
        'system:serviceaccount:default:latchkey-operator',
        ['latchkey-testers'],
      ],
      ['the kube-controller-manager', 'system:kube-controller-manager', ['system:masters']],
    ])('is closed to %s', async (_, name, groups) => {
      const client = await world.user(name, groups);
      const stored = await newObject();
      const path = pathOf(resource, stored.metadata.name, 'status');
      for (const answer of await everyWrite(client, path, stored, { observedGeneration: 99 })) {
        expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
        expect(withoutNames(answer.body.message)).toBe(onlyLatchkey);
      }
    });

    it('is open to the operator', async () => {
      const client = await world.user(serviceAccountUser('latchkey-operator'), ['latchkey-testers']);
      const stored = await newObject();
      const path = pathOf(resource, stored.metadata.name, 'status');
      for (const answer of await everyWrite(client, path, stored, { observedGeneration: 99 })) {
        expect(answer).toMatchObject({ status: 200, body: { status: { observedGeneration: 99 } } });
      }
    });

    it('does not change with the main resource', async () => {
      const stored = await newObject();
      const path = pathOf(resource, stored.metadata.name);
      for (const answer of await everyWrite(world.admin, path, stored, { observedGeneration: 99 })) {
        expect(answer.status).toBe(200);
        expect(answer.body.status?.observedGeneration).not.toBe(99);
      }
      const body = { ...objectOf(resource), status: { observedGeneration: 99 } };
      const created = expectOk(await world.admin.send('POST', pathOf(resource), { body }));
      expect(created.status?.['observedGeneration']).not.toBe(99);
    });
  });

  it.each(allKinds.filter((resource) => resource !== ownedAccessKeys))(
    'of a $kind is closed to latchkey-activity',
    async (resource) => {
      const stored = expectOk(await world.admin.send('POST', pathOf(resource), { body: objectOf(resource) }));
      const answer = await patchStatus(world.activity, stored, { observedGeneration: 99 }, resource);
      expect(answer).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining(onlyLastActivity) },
      });
    },
  );

  describe('lastActivity, written by latchkey-activity', () => {
    const keyWith = async (status: object): Promise<TestObject> => {
      const created = await made(world.alice, 'OwnedAccessKey');
      return await writeStatus(world, created, { observedGeneration: 1, serial: 1, ...status });
    };

    const before = '2026-01-01T00:00:00Z';
    /** From undefined: nothing was recorded. */
    it.each<[string, from: string | undefined, to: string]>([
      ['for the first time', undefined, secondsFromNow(-30)],
      ['a second later', before, '2026-01-01T00:00:01Z'],
      ['a fraction later', '2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.2Z'],
      ['later, in another zone', before, '2026-01-01T02:00:01+02:00'],
      ['the same again', before, before],
      ['by a clock that is 20 seconds ahead', undefined, secondsFromNow(20)],
    ])('is accepted %s', async (_, from, to) => {
      const answer = await patchStatus(world.activity, await keyWith(activity(from)), { lastActivity: to });
      expect(answer).toMatchObject({ status: 200, body: { status: { lastActivity: to } } });
    });

    it.each<[string, from: string | undefined, to: string | null, message: string]>([
      ['a second earlier', '2026-01-01T00:00:01Z', before, onlyLater],
      ['the same instant in another zone', before, '2026-01-01T01:00:00+01:00', onlyLater],
      ['nothing', before, null, onlyLater],
      ['two minutes ahead', undefined, secondsFromNow(120), notInFuture],
      ['years ahead', before, '2099-01-01T00:00:00Z', notInFuture],
    ])('is refused when it is %s', async (_, from, to, message) => {
      const stored = await keyWith(activity(from));
      const answer = await patchStatus(world.activity, stored, { lastActivity: to });
      expect(answer).toMatchObject({
        status: 403,
        body: { reason: 'Forbidden', message: expect.stringContaining(message) },
      });
      expect((await read(world, stored)).status).toEqual(stored.status);
    });

    it.each([
      ['another field', { serial: 2 }],
      ['another field beside it', { lastActivity: secondsFromNow(-1), serial: 2 }],
      ['a new field beside it', { lastActivity: secondsFromNow(-1), credentialHash: 'a'.repeat(64) }],
      ['a field removed beside it', { lastActivity: secondsFromNow(-1), serial: null }],
      ['the conditions', { lastActivity: secondsFromNow(-1), conditions: [] }],
      ['all of status', null],
    ])('is refused with %s', async (_, status) => {
      const stored = await keyWith({});
      const answer = await patchStatus(world.activity, stored, status);
      expect(answer).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining(onlyLastActivity) },
      });
      expect((await read(world, stored)).status).toEqual(stored.status);
    });

    it('is accepted for a key whose owner emptied the list of managers, which the API server then no longer keeps', async () => {
      const stored = await keyWith({});
      const emptied = await mergePatch(world.alice, stored, { metadata: { managedFields: [{}] } });
      expect(expectOk(emptied).metadata.managedFields).toBe(undefined);
      const lastActivity = secondsFromNow(-1);
      const answer = await patchStatus(world.activity, stored, { lastActivity });
      expect(answer).toMatchObject({ status: 200, body: { status: { lastActivity } } });
    });

    it.each(['PUT', 'merge patch', 'JSON patch'])(
      'is refused years ahead when the write hides the time at which it is made, by %s',
      async (way) => {
        const stored = await keyWith({});
        const path = pathOf(ownedAccessKeys, stored.metadata.name, 'status');
        const status = { lastActivity: '2099-01-01T00:00:00Z' };
        const metadata = { managedFields: [{}] };
        const send: Readonly<Record<string, () => Promise<ApiAnswer>>> = {
          PUT: () =>
            world.activity.send('PUT', path, {
              body: {
                ...stored,
                metadata: { ...stored.metadata, ...metadata },
                status: { ...stored.status, ...status },
              },
            }),
          'merge patch': () =>
            world.activity.send('PATCH', path, {
              body: { metadata, status },
              contentType: contentTypes.mergePatch,
            }),
          'JSON patch': () =>
            world.activity.send('PATCH', path, {
              body: [
                { op: 'add', path: '/metadata/managedFields', value: [{}] },
                { op: 'add', path: '/status/lastActivity', value: status.lastActivity },
              ],
              contentType: contentTypes.jsonPatch,
            }),
        };
        const answer = await send[way]?.();
        expect(answer).toMatchObject({
          status: 403,
          body: { message: expect.stringContaining(notInFuture) },
        });
        expect((await read(world, stored)).status).toEqual(stored.status);
      },
    );
  });

  it('cannot be created by server-side apply where there is no object', async () => {
    const object = objectOf(ownedAccessKeys);
    const answer = await world.bob.send('PATCH', pathOf(ownedAccessKeys, object.metadata.name, 'status'), {
      body: { apiVersion: object.apiVersion, kind: object.kind, status: { observedGeneration: 99 } },
      contentType: contentTypes.apply,
      query: { fieldManager: 'x', force: 'true' },
    });
    expect(answer.status).toBe(404);
    await create(world.bob, object);
  });
});

async function patchStatus(
  client: ApiClient,
  object: TestObject,
  status: object | null,
  resource = ownedAccessKeys,
): Promise<ApiAnswer> {
  const path = pathOf(resource, object.metadata.name, 'status');
  return await client.send('PATCH', path, { body: { status }, contentType: contentTypes.mergePatch });
}

/** The same status by PUT and by each kind of patch. */
async function everyWrite(
  client: ApiClient,
  path: string,
  stored: TestObject,
  status: object,
): Promise<ApiAnswer[]> {
  const { apiVersion, kind } = stored;
  const { body: present } = await client.send('GET', path);
  const { managedFields: _, ...metadata } = present.metadata;
  return [
    await client.send('PUT', path, {
      body: { ...present, metadata, status: { ...present.status, ...status } },
    }),
    await client.send('PATCH', path, { body: { status }, contentType: contentTypes.mergePatch }),
    await client.send('PATCH', path, {
      body: [{ op: 'add', path: '/status', value: { ...present.status, ...status } }],
      contentType: contentTypes.jsonPatch,
    }),
    await client.send('PATCH', path, {
      body: { apiVersion, kind, metadata: { name: stored.metadata.name }, status },
      contentType: contentTypes.apply,
      query: { fieldManager: 'status-writer', force: 'true' },
    }),
  ];
}
