import { type ApiAnswer, type ApiClient, contentTypes } from './api-client.ts';
import { pathOf, type TestObject } from './objects.ts';
import { resourceOf } from './world.ts';

type Query = Readonly<Record<string, string>>;

export const placeOf = ({ kind, metadata }: TestObject, subresource?: string): string =>
  pathOf(resourceOf(kind), metadata.name, subresource);

/** Sends the object back with these fields of its spec and metadata. */
export async function put(
  client: ApiClient,
  object: TestObject,
  spec: object = {},
  metadata: object = {},
): Promise<ApiAnswer> {
  const body = {
    ...object,
    metadata: { ...object.metadata, ...metadata },
    spec: { ...object.spec, ...spec },
  };
  return await client.send('PUT', placeOf(object), { body });
}

export const mergePatch = async (
  client: ApiClient,
  object: TestObject,
  body: object,
  query: Query = {},
): Promise<ApiAnswer> =>
  await client.send('PATCH', placeOf(object), { body, contentType: contentTypes.mergePatch, query });

export const jsonPatch = async (
  client: ApiClient,
  object: TestObject,
  body: readonly object[],
): Promise<ApiAnswer> =>
  await client.send('PATCH', placeOf(object), { body, contentType: contentTypes.jsonPatch });

/** Server-side apply with force, of these fields and no others. */
export async function apply(
  client: ApiClient,
  { apiVersion, kind, metadata, spec }: TestObject,
  fieldManager: string,
  extra: object = {},
): Promise<ApiAnswer> {
  const { name, namespace } = metadata;
  return await client.send('PATCH', pathOf(resourceOf(kind), name), {
    body: { apiVersion, kind, metadata: { name, namespace, ...extra }, spec },
    contentType: contentTypes.apply,
    query: { fieldManager, force: 'true' },
  });
}

export const remove = async (client: ApiClient, object: TestObject, query: Query = {}): Promise<ApiAnswer> =>
  await client.send('DELETE', placeOf(object), { query });
