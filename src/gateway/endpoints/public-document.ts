import { createHash } from 'node:crypto';
import { authenticate } from '../gate/authenticate.ts';
import { type ErrorAnswer, errorAnswer, hasBody } from '../server/error-answer.ts';
import type { EndpointServices, Exchange, PublicDocument, PublicEndpoint } from './shared/endpoint.ts';

/** Its tag depends on nothing but the text. */
export const toPublicDocument = (
  text: string,
  form: Omit<PublicDocument, 'text' | 'etag'>,
): PublicDocument => ({
  ...form,
  text,
  etag: `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`,
});

/** For reads of one document, of which one address may ask for so many. A live credential may always. */
export function publicDocument(
  find: () => PublicDocument | undefined,
  { issuerReads, index, clock, clientAddress }: EndpointServices,
): PublicEndpoint {
  return {
    methods: ['GET', 'HEAD'],
    answer: (exchange) => {
      const { request, response } = exchange;
      // Counted apart from misses: a client nearby with an old credential must not keep a verifier from the keys.
      if (issuerReads.isTooMany(clientAddress(request))) {
        if (!('verdict' in authenticate(request, { index, clock }))) {
          response.shouldKeepAlive = false;
          return tooManyReads;
        }
      }
      return sendDocument(exchange, find());
    },
  };
}

function sendDocument(
  { request, response }: Exchange,
  document: PublicDocument | undefined,
): ErrorAnswer | undefined {
  if (document === undefined) return unpublished;
  if (hasBody(request)) response.shouldKeepAlive = false;
  const { text, etag, contentType, maxAgeSeconds } = document;
  const headers = { etag, 'cache-control': `max-age=${maxAgeSeconds}`, 'x-content-type-options': 'nosniff' };
  if (names(request.headers['if-none-match'], etag)) {
    response.writeHead(304, headers).end();
    return undefined;
  }
  const length = Buffer.byteLength(text);
  response.writeHead(200, { ...headers, 'content-type': contentType, 'content-length': length });
  response.end(request.method === 'HEAD' ? undefined : text);
  return undefined;
}

/** A proxy that packs answers weakens the tag. */
const names = (tags: string | undefined, etag: string): boolean =>
  tags?.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, ''))) === true;

const unpublished = errorAnswer('ERR_ISSUER_UNKNOWN', {}, { headers: ['retry-after', '5'] });
const tooManyReads = errorAnswer('ERR_TOO_MANY_UNAUTHENTICATED', {}, { headers: ['retry-after', '10'] });
