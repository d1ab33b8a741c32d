import { type ApiAnswer, type ApiClient, contentTypes } from './api-client.ts';
import { pathOf, type TestObject } from './objects.ts';
import { resourceOf } from './world.ts';

export interface UpdateFlavour {
  readonly name: string;
  /** Sends what `change` makes of the object; what it deletes is dropped as far as the flavour can say so. */
  readonly update: (
    client: ApiClient,
    stored: TestObject,
    change: (object: TestObject) => void,
  ) => Promise<ApiAnswer>;
}

/** The ways in which a client can change an object whole. */
export const updateFlavours: readonly UpdateFlavour[] = [
  {
    name: 'PUT',
    update: async (client, stored, change) =>
      await client.send('PUT', path(stored), { body: changed(stored, change) }),
  },
  {
    name: 'JSON patch',
    update: async (client, stored, change) => {
      const after = changed(stored, change);
      const fields = ['annotations', 'labels', 'finalizers'] as const;
      const body = [
        ...fields.map((field) => operation(`/metadata/${field}`, after.metadata[field])),
        operation('/spec', after.spec),
      ];
      return await client.send('PATCH', path(stored), { body, contentType: contentTypes.jsonPatch });
    },
  },
  {
    name: 'merge patch',
    update: async (client, stored, change) => {
      const after = changed(stored, change);
      const { annotations = {}, labels = {}, finalizers = null } = after.metadata;
      const body = {
        metadata: {
          annotations: mergeOf(stored.metadata.annotations, annotations),
          labels: mergeOf(stored.metadata.labels, labels),
          finalizers,
        },
        spec: after.spec === undefined ? null : mergeOf(stored.spec, after.spec),
      };
      return await client.send('PATCH', path(stored), { body, contentType: contentTypes.mergePatch });
    },
  },
  {
    name: 'server-side apply with force',
    update: async (client, stored, change) => {
      const after = changed(stored, change);
      const { name, namespace, annotations, labels, finalizers } = after.metadata;
      const { apiVersion, kind, spec } = after;
      const body = { apiVersion, kind, metadata: { name, namespace, annotations, labels, finalizers }, spec };
      return await client.send('PATCH', path(stored), {
        body,
        contentType: contentTypes.apply,
        query: { fieldManager: 'somebody-else', force: 'true' },
      });
    },
  },
];

const path = (object: TestObject): string => pathOf(resourceOf(object.kind), object.metadata.name);

function changed(stored: TestObject, change: (object: TestObject) => void): TestObject {
  const copy = structuredClone(stored);
  delete copy.metadata['managedFields'];
  change(copy);
  return copy;
}

const operation = (at: string, value: unknown): object =>
  value === undefined ? { op: 'add', path: at, value: null } : { op: 'add', path: at, value };

/** The merge patch that turns one map into another. */
function mergeOf(before: object = {}, after: object = {}): object {
  const dropped = Object.keys(before).filter((key) => !(key in after));
  return { ...after, ...Object.fromEntries(dropped.map((key) => [key, null])) };
}
