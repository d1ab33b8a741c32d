import type { Readable } from 'node:stream';
import { serviceAccounts, systemNamespace } from '../../../api/names.ts';
import { impersonationHeaders } from '../../../kube/client/impersonation.ts';
import {
  type CollectorOptions,
  type RawResponse,
  ResponseCollector,
} from '../../../kube/client/response-collector.ts';
import { ClientGone, Stalled } from '../../proxy/forward.ts';
import { withoutHeaders } from '../../proxy/request-headers.ts';
import type { UpstreamRequest } from '../../proxy/upstream.ts';
import { StallGuard } from '../../turns/stall-guard.ts';
import type { EndpointRequest } from './endpoint.ts';

export interface Question extends Pick<UpstreamRequest, 'method' | 'path' | 'headers'> {
  readonly body?: Buffer;
  readonly maxBytes?: number;
  /** Called when it leaves. */
  readonly onSent?: () => void;
}

export type Asking = Pick<
  EndpointRequest,
  'response' | 'upstream' | 'send' | 'clock' | 'maxStallMs' | 'turn' | 'maySend' | 'trail'
>;

/** Any object, and a page of small ones. */
const defaultBytes = 2 ** 24;

/** Asks the target in place of the client, and reads the whole answer. Rejects when there is none, or when the client leaves. */
export async function ask(asking: Asking, question: Question): Promise<RawResponse> {
  const first = await askOnce(asking, question);
  if (first.status !== 401) return first;
  // It is about our identity, not about the client's.
  const isRenewed = await asking.upstream.refreshed(first.sent);
  const second = isRenewed && !asking.response.destroyed ? await askOnce(asking, question) : first;
  if (second.status === 401) throw new Error('the target refuses the identity of the gateway');
  return second;
}

/** An answer that keeps coming may take longer than one that stands still. */
class ProgressingCollector extends ResponseCollector {
  readonly #onProgress: () => void;

  constructor(options: CollectorOptions, onProgress: () => void) {
    super(options);
    this.#onProgress = onProgress;
  }

  override onResponseStart(...event: Parameters<ResponseCollector['onResponseStart']>): void {
    this.#onProgress();
    super.onResponseStart(...event);
  }

  override onResponseData(...event: Parameters<ResponseCollector['onResponseData']>): void {
    this.#onProgress();
    super.onResponseData(...event);
  }
}

async function askOnce(asking: Asking, question: Question) {
  const { response, upstream, send, clock, maxStallMs } = asking;
  // Its credential may have ended while the request waited for something else.
  if (response.destroyed) throw new ClientGone();
  const { method, path, headers, body = null, maxBytes = defaultBytes, onSent } = question;
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
  const action = { verb: method, path: path.replace(/\?.*/, '') };
  const beforeSend = () => {
    // And while it waited for a slot and a connection.
    if (!asking.maySend()) throw new ClientGone();
    onSent?.();
  };
  const options = { action, maxBytes, beforeSend, resolve, reject };
  const collector = new ProgressingCollector(options, () => guard.progress());
  const request = {
    method,
    path,
    headers,
    body: body as Readable | Buffer | null,
    isLong: false,
    user: send.user,
  };
  const sent = upstream.dispatch(request, collector);
  const end = (error: Error) => {
    // First: a request that waits for a new connection ends only when that has come or failed.
    reject(error);
    sent.abort(error);
  };
  const guard = new StallGuard(clock, maxStallMs, () => end(new Stalled('the request stood still')));
  const onClose = () => end(new ClientGone());
  response.once('close', onClose);
  const answer = await promise.finally(() => {
    guard.stop();
    response.off('close', onClose);
  });
  const { 'audit-id': auditID } = answer.headers;
  asking.trail?.upstream(typeof auditID === 'string' ? auditID : undefined);
  await asking.turn();
  return { ...answer, sent };
}

/** Of a request that the gateway makes in place of that of the client: as its user, and answered in JSON. `contentType`: of its body. */
export function headersInPlace(
  { send }: Pick<EndpointRequest, 'send'>,
  { contentType, group }: { readonly contentType?: string; readonly group?: string } = {},
): readonly string[] {
  return [
    ...withoutHeaders(send.headers, (name) => ofClient.has(name)),
    ...['accept', 'application/json'],
    ...(group === undefined ? [] : ['impersonate-group', group]),
    ...(contentType === undefined ? [] : ['content-type', contentType]),
  ];
}

/** They describe the body that the client sent, or wants. */
const ofClient: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
]);

/** Headers, name and value in turn, of a request that goes out as the account that reads all credentials and targets. */
export const reader = impersonationHeaders({
  serviceAccount: { namespace: systemNamespace, name: serviceAccounts.reader },
});
