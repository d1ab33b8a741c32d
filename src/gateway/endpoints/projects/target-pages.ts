import { asObject, asText, isObject, type JsonObject, parseJSON } from '../../../api/json.ts';
import type { Resource } from '../../../api/resources.ts';
import { type ListOptions, listQuery } from '../../../kube/client/client-options.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { collectionPath } from '../../../kube/resource-path.ts';
import { type Asking, reader } from '../shared/ask.ts';
import { askWithin } from '../shared/ask-within.ts';
import type { Holding } from '../shared/held-bytes.ts';
import { refuse } from '../shared/reply.ts';

export interface PagePlace {
  /** Objects at most. */
  readonly limit: number;
  /** Where it begins; empty or absent for the first page. */
  readonly next?: string | undefined;
}

export interface TargetPage extends PagePlace {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Where the next page begins; empty after the last one. */
  readonly next: string;
  /** As many as there was room for. */
  readonly limit: number;
  /** Of its text: its user holds them. */
  readonly bytes: number;
}

/** The objects that a page is about. */
export type TargetSelection = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'> & {
  readonly resource: Resource;
};

interface PageOptions extends PagePlace {
  readonly held: Holding;
}

/** Of a page. It counts as the memory of its user, who may have twelve of them read at once. */
const ofPage = 2 ** 20;
/** No API server stores more. */
const ofObject = 2 ** 21;
/** So much smaller is the next try after a page that is too large. */
const divisor = 5;

/**
 * As the account that watches all targets: it may list them, and get none by name. In the turn of the user who wants to see them, and
 * within the memory that they may hold. Throws a Refusal.
 */
export async function readPage(
  asking: Asking,
  { resource, namespace, ...selectors }: TargetSelection,
  { held, limit: most, next }: PageOptions,
): Promise<TargetPage> {
  const headers = ['accept', 'application/json', ...reader];
  for (let limit = most; limit >= 1; limit = limit === 1 ? 0 : Math.ceil(limit / divisor)) {
    const query = listQuery({ ...selectors, limit, ...(next ? { continue: next } : {}) });
    const path = `${collectionPath(resource, namespace)}?${query}`;
    const maxBytes = limit === 1 ? ofObject : ofPage;
    const answer = await askWithin(asking, { method: 'GET', path, headers, maxBytes }, held);
    if (answer === undefined) continue;
    // A refusal is about our own account, not about the client.
    if (answer.status !== 200) throw new Error(`the reader got ${answer.status}`);
    return { ...toPage(asObject(parseJSON(answer.body))), limit, bytes: answer.body.length };
  }
  return refuse('ERR_QUERY', { problem: 'one of these objects is too large to be shown' });
}

/** Undefined where there is none by that name. */
export async function readTarget(
  asking: Asking,
  { resource, name, ...place }: TargetSelection & { readonly name: string },
  held: Holding,
): Promise<KubeObject | undefined> {
  const fieldSelector = `metadata.name=${name}`;
  const { items } = await readPage(asking, { ...place, resource, fieldSelector }, { held, limit: 1 });
  return items[0];
}

function toPage({ items, metadata }: JsonObject): Pick<TargetPage, 'items' | 'resourceVersion' | 'next'> {
  const { resourceVersion, continue: next } = asObject(metadata);
  return {
    items: (Array.isArray(items) ? items : []).filter(isObject) as unknown as readonly KubeObject[],
    resourceVersion: asText(resourceVersion) ?? '',
    next: asText(next) ?? '',
  };
}
