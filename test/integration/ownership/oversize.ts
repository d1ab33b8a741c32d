import { expect } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { type ApiClient, contentTypes } from '../admission/api-client.ts';
import { pathOf, type TestObject, unreadObjectOf } from '../admission/objects.ts';

/** Makes an object as large as it is told, by one of the ways to make it large. */
export type Way = (object: TestObject, size: number) => TestObject;

export const withMetadata = (object: TestObject, metadata: object): TestObject =>
  ({ ...object, metadata: { ...object.metadata, ...metadata } }) as TestObject;
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.max(1, Math.floor(count)) }, (_, index) => make(index));
export const annotated = (object: TestObject, value: string): TestObject =>
  withMetadata(object, { annotations: { ...object.metadata.annotations, long: value } });
const managed = (object: TestObject, entries: readonly object[]): TestObject =>
  withMetadata(object, {
    managedFields: [...((object.metadata['managedFields'] as object[]) ?? []), ...entries],
  });
const entry = (manager: string, fieldsV1: object): object => ({
  ...{ manager, operation: 'Apply', apiVersion: 'management.platform.sh/v1' },
  ...{ time: '2026-11-21T10:00:00Z', fieldsType: 'FieldsV1', fieldsV1 },
});

/** Adds one manager, with so many fields of an annotation each, of which the names are so long. */
export const managing = (object: TestObject, count: number, length: number): TestObject => {
  const fields = Object.fromEntries(many(count, (index) => [`f:${index}${'a'.repeat(length)}`, {}]));
  return managed(object, [entry('large', { 'f:metadata': { 'f:annotations': fields } })]);
};

export const ways: Readonly<Record<string, Way>> = {
  labels: (object, size) =>
    withMetadata(object, {
      labels: Object.fromEntries(
        many(size / 380, (index) => [`${'p'.repeat(230)}.com/l${index}`, 'v'.repeat(60)]),
      ),
    }),
  'annotations of three bytes a character': (object, size) => annotated(object, '€'.repeat(size / 3)),
  'annotations with what JSON escapes': (object, size) => annotated(object, '<'.repeat(size / 6)),
  'annotations with control characters': (object, size) => annotated(object, '\u0001'.repeat(size / 6)),
  'many annotations': (object, size) =>
    withMetadata(object, {
      annotations: {
        ...object.metadata.annotations,
        ...Object.fromEntries(many(size / 1_100, (index) => [`a${index}`, '<'.repeat(180)])),
      },
    }),
  finalizers: (object, size) =>
    withMetadata(object, { finalizers: many(size / 250, (index) => `${'f'.repeat(230)}.com/f${index}`) }),
  'owner references': (object, size) =>
    withMetadata(object, {
      ownerReferences: many(size / 2_000, (index) => ({
        ...{ apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: `${index}${'€'.repeat(600)}` },
      })),
    }),
  'managers of fields': (object, size) =>
    managed(
      object,
      many(size / 400, (index) => entry(`manager-${index}`, { 'f:spec': { 'f:description': {} } })),
    ),
  'fields of one manager': (object, size) =>
    managed(object, [
      entry('manager', {
        'f:metadata': {
          'f:annotations': Object.fromEntries(
            many(size / 110, (index) => [`f:${'<'.repeat(10)}${index}${'a'.repeat(40)}`, {}]),
          ),
        },
      }),
    ]),
  'fields deep below each other': (object, size) =>
    managed(object, [
      entry(
        'manager',
        many(Math.min(size / 1_000, 60), (index) => index).reduce<object>(
          (inner, index) => ({ [`f:${'d'.repeat(900)}${index}`]: inner }),
          {},
        ),
      ),
    ]),
  scope: (object, size) => ({
    ...object,
    spec: {
      ...object.spec,
      scope: {
        rules: many(Math.min(size / 130_000, 32), () => ({
          resources: many(16, (index) => ({
            group: `g${index}`,
            resourceNames: many(32, () => 'n'.repeat(253)),
          })),
        })),
      },
    },
  }),
};

/** Makes a key of the user, and gives its path. */
export async function makeKey(client: ApiClient, user: string): Promise<string> {
  const body = unreadObjectOf(ownedAccessKeys, { user });
  const answer = await client.send('POST', pathOf(ownedAccessKeys), { body });
  expect(answer.status, answer.body.message).toBe(201);
  return pathOf(ownedAccessKeys, answer.body.metadata.name);
}

const off = { body: { spec: { disabled: true } }, contentType: contentTypes.mergePatch };
const release = { body: { metadata: { finalizers: null } }, contentType: contentTypes.mergePatch };
const ok = { status: 200, said: undefined };

/** Disables the key, deletes it, and lets go of it. */
export async function expectEnd(admin: ApiClient, path: string): Promise<void> {
  const turnedOff = await admin.send('PATCH', path, off);
  expect({ status: turnedOff.status, said: turnedOff.body.message }).toEqual(ok);
  expect(turnedOff.body.spec.disabled).toBe(true);
  const deleted = await admin.send('DELETE', path);
  expect({ status: deleted.status, said: deleted.body.message }).toEqual(ok);
  expect((await admin.send('PATCH', path, release)).status).toBe(200);
}
