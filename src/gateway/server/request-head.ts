import type { IncomingMessage } from 'node:http';
import { type ErrorAnswer, errorAnswer } from './error-answer.ts';

export interface RequestLimits {
  readonly headerBytes: number;
  readonly headerFields: number;
  readonly urlBytes: number;
}

type RequestHead = Pick<IncomingMessage, 'httpVersion' | 'method' | 'url' | 'rawHeaders'>;

/**
 * Refuses what two readers of HTTP could take for different requests. Node's parser lets all of this through, and the
 * server behind us must see exactly the request that was judged. `undefined`: nothing to refuse.
 */
export function checkRequestHead(head: RequestHead, limits: RequestLimits): ErrorAnswer | undefined {
  const { httpVersion, method = '', url = '', rawHeaders } = head;
  if (httpVersion !== '1.1') return errorAnswer('ERR_REQUEST_VERSION', {});
  if (!methods.has(method)) return unknownMethod;
  if (url.length > limits.urlBytes) return errorAnswer('ERR_REQUEST_URL', { limit: limits.urlBytes });
  if (rawHeaders.length > 2 * limits.headerFields) return tooManyHeaders(limits);
  const problem = urlProblem(url) ?? framingProblem(rawHeaders);
  return problem === undefined ? undefined : errorAnswer('ERR_REQUEST_MALFORMED', { problem });
}

export const tooManyHeaders = ({ headerBytes, headerFields }: RequestLimits): ErrorAnswer =>
  errorAnswer('ERR_REQUEST_HEADERS', { bytes: headerBytes, fields: headerFields });

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
export const unknownMethod = errorAnswer(
  'ERR_REQUEST_METHOD',
  {},
  { headers: ['allow', [...methods].join(', ')] },
);

/** A proxy takes its target from an absolute URL, and a server that drops a fragment judges another path. */
function urlProblem(url: string): string | undefined {
  if (!url.startsWith('/')) return 'its target is not a path';
  return /[^\x21-\x7e]|#/.test(url) ? 'its target holds characters that must be encoded' : undefined;
}

/** Of the names that matter below: most headers are told apart by this alone. */
const lengths: ReadonlySet<number> = new Set(
  ['host', 'content-type', 'content-length', 'transfer-encoding'].map((name) => name.length),
);

/** One way to say where the body ends and what it is, and one host. */
function framingProblem(rawHeaders: readonly string[]): string | undefined {
  const counts = { hosts: 0, types: 0, ends: 0 };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    if (!lengths.has(name.length)) continue;
    switch (name.toLowerCase()) {
      case 'host':
        counts.hosts += 1;
        break;
      case 'content-type':
        counts.types += 1;
        break;
      case 'content-length':
        counts.ends += 1;
        if (!/^\d{1,15}$/.test(value)) return 'its Content-Length is no number';
        break;
      case 'transfer-encoding':
        counts.ends += 1;
        if (value.toLowerCase() !== 'chunked') return 'its Transfer-Encoding is not chunked';
        break;
    }
  }
  return countProblem(counts);
}

function countProblem({ hosts, types, ends }: Readonly<Record<'hosts' | 'types' | 'ends', number>>) {
  if (hosts !== 1) return 'it must have exactly one Host';
  // A patch is judged by its type: an apply may create.
  if (types > 1) return 'it has more than one Content-Type';
  return ends > 1 ? 'it says more than once where its body ends' : undefined;
}

/** Whether a header has this name, which is in lower case. It is asked so often that the length comes first. */
export const isHeader = (header: string | undefined, name: string): boolean =>
  header?.length === name.length && header.toLowerCase() === name;
