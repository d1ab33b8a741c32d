import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { KubeList, KubeObject } from '../../kube/object.ts';

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
      return await client.list<T>(resource, {
        limit,
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(next === undefined ? {} : { continue: next }),
      });
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
