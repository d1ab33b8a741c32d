export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** For the whole call, waits and retries included. Default 10 s. */
  readonly timeoutMs?: number;
  /**
   * How often an idempotent request is sent again after 429 or 503; one that only reads also after 500, twice at most. Default 4, or what
   * the client was made with.
   */
  readonly retries?: number;
  /** Leave out the write guard: for what a process may write without leading (its lease, its events). */
  readonly unguarded?: boolean;
}

export interface ListOptions extends RequestOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects a page; absent: all in one answer. */
  readonly limit?: number;
  /** From the page before. */
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'NotOlderThan' | 'Exact';
}

export interface WriteOptions extends RequestOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  /** The API server does everything but store. */
  readonly dryRun?: boolean;
  /** The treatment of unknown fields by the API server. Its default: `Warn`. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take fields over from other managers instead of failing with a conflict. */
  readonly force?: boolean;
}

export interface DeleteOptions extends RequestOptions {
  /** Refused with a conflict when the object is another one, or has changed. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  readonly dryRun?: boolean;
}

export interface RawRequestOptions extends RequestOptions {
  readonly query?: URLSearchParams;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
}

/** Query parameters of a list or watch. */
export function listQuery(options: ListOptions): URLSearchParams {
  const { labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch } = options;
  const given = {
    labelSelector,
    fieldSelector,
    limit,
    continue: options.continue,
    resourceVersion,
    resourceVersionMatch,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, String(value));
  return query;
}

export function writeQuery(options: WriteOptions & { readonly force?: boolean }): string {
  const { fieldManager, dryRun, fieldValidation, force } = options;
  if (fieldManager === undefined && !dryRun && fieldValidation === undefined && !force) return '';
  const query = new URLSearchParams();
  if (fieldManager !== undefined) query.set('fieldManager', fieldManager);
  if (dryRun) query.set('dryRun', 'All');
  if (fieldValidation !== undefined) query.set('fieldValidation', fieldValidation);
  if (force) query.set('force', 'true');
  return query.toString();
}
