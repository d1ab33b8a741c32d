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

/** Objects a page. Fewer where a page would be larger than we read: one object may weigh more than a megabyte. */
const pageSizes = [500, 50, 4, 1] as const;

/** Every object of a resource in all namespaces, page by page. Rejects with the client's errors. */
export async function* everyObject<T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource,
  options: PagedListOptions,
): AsyncGenerator<T> {
  let page: Page<T> = { size: 0, items: [], next: undefined };
  do {
    page = await pageAfter(page, async (size, next) => {
      options.assertTime();
      const { labelSelector } = options;
      const limit = pageSizes[size] ?? 1;
      const list = await client.list<T>(resource, {
        limit,
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(next === undefined ? {} : { continue: next }),
      });
      if (!isPage(list, limit, resource)) throw noList();
      return list;
    });
    yield* page.items;
  } while (page.next !== undefined);
}

interface Page<T> {
  /** Index into `pageSizes`. */
  readonly size: number;
  readonly items: readonly T[];
  readonly next: string | undefined;
}

async function pageAfter<T>(
  before: Page<T>,
  read: (size: number, next: string | undefined) => Promise<KubeList<T>>,
): Promise<Page<T>> {
  try {
    const list = await read(before.size, before.next);
    return { size: before.size, items: list.items, next: list.metadata.continue || undefined };
  } catch (error) {
    const isTooLarge = error instanceof KubeError && error.code === 'ERR_KUBE_RESPONSE';
    if (!isTooLarge || before.size === pageSizes.length - 1) throw error;
    return pageAfter({ ...before, size: before.size + 1 }, read);
  }
}

/** What is not as an API server sends it would fail in the middle of a clean-up, or go on for ever. */
function isPage(list: Unchecked, limit: number, resource: Resource): boolean {
  const { items, metadata } = list ?? {};
  const next = metadata?.continue;
  if (next !== undefined && typeof next !== 'string') return false;
  return Array.isArray(items) && items.length <= limit && items.every((item) => isObject(item, resource));
}

/** JSON that somebody else has written. */
type Unchecked = { readonly items?: unknown; readonly metadata?: Record<string, unknown> | null } | null;

function isObject(item: Unchecked, { namespaced }: Resource): boolean {
  const { name, namespace, finalizers } = item?.metadata ?? {};
  const isPlaced = namespaced ? isName(namespace) : namespace === undefined;
  return isName(name) && isPlaced && (finalizers === undefined || Array.isArray(finalizers));
}

/** Of bindings any text that can be a segment of a path, however long. */
const isName = (name: unknown): boolean =>
  typeof name === 'string' && /^[^/%]+$/u.test(name) && name.isWellFormed() && !/^\.\.?$/.test(name);

const noList = () =>
  targetFailure(
    reasons.targetAnswer,
    'The virtual cluster answers a list with something else: look at its API server.',
  );
