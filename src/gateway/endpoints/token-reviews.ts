import { asObject, parseJSON } from '../../api/json.ts';
import { readBearer } from '../gate/bearer.ts';
import { forward } from '../proxy/forward.ts';
import { errorAnswer } from '../server/error-answer.ts';
import type { Endpoint, EndpointServices } from './endpoint.ts';
import { type BodyLimit, readBody } from './request-body.ts';

/**
 * A client library may ask the API server whose its credential is. One of ours is for this gateway alone, so it goes no further: the
 * target judges another text in its place, and says that it does not know it. Who may ask at all is up to the target.
 */
export const tokenReviews =
  ({ settings }: Pick<EndpointServices, 'settings'>): Endpoint =>
  async (review) => {
    const { request, response, refuse } = review;
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') return refuse(encoded);
    const body = await readBody(review, limit);
    if (response.destroyed) return;
    if ('status' in body) return refuse(body);
    const read = readBearer(request.rawHeaders, {
      maxBytes: settings.maxCredentialBytes,
      isWebSocket: false,
    });
    const bearer = 'bearer' in read ? read.bearer : '';
    forward({ ...review, body: withoutCredentials(body, { bearer, issuer: settings.baseURL }) });
  };

export interface OwnCredentials {
  /** The one that the request came with, which may have any form. */
  readonly bearer: string;
  /** Of our tokens. */
  readonly issuer: string;
}

/** With as many letters in place of each credential of ours: so it stays what it was in JSON, YAML and protobuf. */
export function withoutCredentials(body: Buffer, { bearer, issuer }: OwnCredentials): Buffer {
  const text = body.toString('latin1');
  const blank = (found: string): string => 'x'.repeat(found.length);
  const cleaned = (bearer === '' ? text : text.replaceAll(bearer, blank))
    .replace(/lk_[0-9A-Za-z]+/g, blank)
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, (token) => (issuerOf(token) === issuer ? blank(token) : token));
  return Buffer.from(cleaned, 'latin1');
}

/** Undefined for a text that is no JWT. */
function issuerOf(token: string): unknown {
  const [, payload = ''] = token.split('.');
  return asObject(parseJSON(Buffer.from(payload, 'base64url').toString('utf8')))['iss'];
}

/** A review is one token and a few names. */
const limit: BodyLimit = {
  maxBytes: 65_536,
  tooLarge: errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'the review is too large, or cut off' }),
};
const encoded = errorAnswer('ERR_BODY_TYPE', {});
