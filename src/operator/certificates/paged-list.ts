import { asObject, asText, defined } from '../../api/json.ts';
import { labels } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeList, KubeObject } from '../../kube/object.ts';
import { targetFailure } from '../targets/target-failure.ts';

export interface PagedListOptions {
  readonly labelSelector?: string;
  /** Called before each request; throws when there is no time left. */
  readonly assertTime: () => void;
}

/** Objects a page: all of them, or fewer where that is more than we read. One object may weigh more than a megabyte. */
const pageSizes = [undefined, 500, 50, 4, 1] as const;

/**
 * Every object of a resource in all namespaces, in one answer or page by page. Rejects with the client's errors, and
 * with a TargetFailure where the pages cannot go on: what stands behind has not been seen then.
 */
export async function* everyObject<T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  options: PagedListOptions,
): AsyncGenerator<T> {
  const { labelSelector } = options;
  let page: Page<T> = { size: 0, items: [], next: undefined, isDeadEnd: false };
  do {
    page = await pageAfter(page, async (limit, next) => {
      options.assertTime();
      return await client.list<T>(resource, {
        ...defined({ limit, labelSelector, continue: next }),
      });
    });
    yield* page.items;
    // They may be large, and the next page may take long.
    page = { ...page, items: [] };
    if (page.isDeadEnd) throw unlistable();
  } while (page.next !== undefined);
}

/** The name of something that was made for an object, and the UID of that. */
interface Owned {
  readonly uid: string;
  readonly name: string;
}

/** All that stands there as made for these objects. Keeps nothing of it: the target says how much. Rejects as `everyObject` does. */
export async function* everyOwned(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  { uids, assertTime }: Pick<PagedListOptions, 'assertTime'> & { readonly uids: ReadonlySet<string> },
): AsyncGenerator<Owned> {
  const [first, ...others] = uids;
  if (first === undefined) return;
  const labelSelector = others.length > 0 ? labels.ownerUID : `${labels.ownerUID}=${first}`;
  for await (const { metadata } of everyObject<KubeObject>(client, resource, { labelSelector, assertTime })) {
    const uid = asText(asObject(metadata.labels)[labels.ownerUID]);
    if (uid !== undefined && uids.has(uid)) yield { uid, name: metadata.name };
  }
}

/**
 * U+FFFD may stand for bytes that are no UTF-8: API servers store them, show them like this in JSON, and find nothing
 * under the name that they show.
 */
export const holdsUnknownBytes = (name: string): boolean => name.includes('\ufffd');

interface Page<T> {
  /** Index into `pageSizes`. */
  readonly size: number;
  readonly items: readonly T[];
  readonly next: string | undefined;
  /** There is more, and no way to it. */
  readonly isDeadEnd: boolean;
}

type Read<T> = (limit: number | undefined, next: string | undefined) => Promise<KubeList<T>>;

async function pageAfter<T extends KubeObject>(before: Page<T>, read: Read<T>): Promise<Page<T>> {
  const page = await readPage(before, read);
  return page ?? pageAfter({ ...before, size: before.size + 1 }, read);
}

/** Undefined where it has to be smaller. No API server ends a list early of which it was asked for everything. */
async function readPage<T extends KubeObject>(before: Page<T>, read: Read<T>): Promise<Page<T> | undefined> {
  const limit = pageSizes[before.size];
  try {
    const list = await read(limit, before.next);
    if (limit === undefined && list.metadata.continue) return undefined;
    return await endWell({ ...before, ...contentOf(list) }, (other) => read(other, before.next));
  } catch (error) {
    if (!isTooLarge(error) || before.size === pageSizes.length - 1) throw error;
    return undefined;
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof KubeError && error.code === 'ERR_KUBE_RESPONSE';

/**
 * The page, or a shorter or longer one that ends with a plain name. An API server makes the page marker of the last
 * name: one with unknown bytes leads to another place, and what stands between is skipped without a word; a long one fits
 * into no request.
 */
async function endWell<T extends KubeObject>(
  page: Page<T>,
  read: (limit: number) => Promise<KubeList<T>>,
): Promise<Page<T>> {
  const { items, next = '' } = page;
  const last = items.at(-1);
  if (next === '' || last === undefined || isPlain(last)) return page;
  const end = items.findLastIndex(isPlain) + 1;
  if (end > 0) return endWell({ ...page, ...contentOf(await read(end)) }, read);
  const longer = await readLonger(items.length * 2, read);
  if (longer !== undefined) return endWell({ ...page, ...contentOf(longer) }, read);
  return { ...page, isDeadEnd: holdsUnknownBytes(last.metadata.name) || next.length > maxMarkerLength };
}

async function readLonger<T>(
  limit: number,
  read: (limit: number) => Promise<KubeList<T>>,
): Promise<KubeList<T> | undefined> {
  if (limit > maxPageSize) return undefined;
  try {
    return await read(limit);
  } catch (error) {
    if (isTooLarge(error)) return undefined;
    throw error;
  }
}

const maxPageSize = 1_000;
const contentOf = <T>({ items, metadata }: KubeList<T>) => ({ items, next: metadata.continue || undefined });

/** Kubernetes takes such names for most kinds; a page marker of one is short. */
const isPlain = ({ metadata: { name } }: KubeObject): boolean => /^[ -~]{1,253}$/.test(name);

/** An API server takes a request line and headers of a mebibyte together. */
const maxMarkerLength = 1_000_000;

const unlistable = () =>
  targetFailure(
    reasons.targetAnswer,
    'Bindings of revoked certificates may be left: the virtual cluster has too many large bindings to list them at once, and one has a name at which a list cannot go on. Delete large bindings there, or those whose names hold control characters or no UTF-8.',
  );
