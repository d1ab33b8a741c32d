import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { listQuery } from '../../kube/client/client-options.ts';
import type { KubeObject } from '../../kube/object.ts';
import { collectionPath, isSegment } from '../../kube/resource-path.ts';
import { holdsUnknownBytes } from './paged-list.ts';

/**
 * Deletes an object whose name fits into no request, as the first of the list from a place right before it. `before`:
 * the name that stands before it in its list. Resolves with false where that place cannot be told, another object is the
 * first there, or it is there as before. Rejects with the client's errors.
 *
 * No other object is ever deleted: the API server compares the UID. A proxy that drops the body drops that too: then
 * the server takes the options from the query, where it is told to delete nothing.
 */
export async function deleteByPlace(
  client: KubeClient,
  resource: Resource,
  {
    metadata: { name, namespace, uid },
  }: { readonly metadata: Pick<KubeObject['metadata'], 'name' | 'namespace' | 'uid'> },
  before: string | undefined,
): Promise<boolean> {
  const start = startOf(name, before);
  if (start === undefined || !uid) return false;
  const place = { limit: 1, ...(start === '' ? {} : { continue: pageMarker(start) }) };
  const isFirst = async (): Promise<boolean> => {
    const options = namespace === undefined ? place : { ...place, namespace };
    return (await client.list(resource, options)).items[0]?.metadata.uid === uid;
  };
  if (!(await isFirst())) return false;
  const query = listQuery(place);
  query.set('dryRun', 'All');
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
  await client.request('DELETE', collectionPath(resource, namespace), { query, body });
  return !(await isFirst());
}

/**
 * A text above the name before and not above the name itself, in the order of their bytes; empty when nothing is before.
 * Undefined where only unknown bytes tell the two apart.
 */
export function startOf(name: string, before: string | undefined): string | undefined {
  if (before === undefined) return '';
  const known = knownPart(name);
  for (
    let end = nextCharacter(known, commonLength(known, before));
    end > 0;
    end = nextCharacter(known, end)
  ) {
    const start = known.slice(0, end);
    if (isSegment(start)) return start;
  }
  return holdsUnknownBytes(before) ? undefined : `${before}\0`;
}

const knownPart = (name: string): string =>
  holdsUnknownBytes(name) ? name.slice(0, name.indexOf('\ufffd')) : name;

/** In whole characters. */
function commonLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.codePointAt(at) === other.codePointAt(at)) at = nextCharacter(one, at);
  return at;
}

/** Where the character that begins there ends; 0 when none does. */
function nextCharacter(text: string, at: number): number {
  const code = text.codePointAt(at);
  return code === undefined ? 0 : at + String.fromCodePoint(code).length;
}

/** As API servers write it, which is part of their API; -1 is the latest version. */
const pageMarker = (start: string): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start })).toString('base64url');
