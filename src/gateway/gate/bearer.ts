import { checkAccessKey } from '../../credentials/keys/access-key.ts';
import { isHeader } from '../server/request-head.ts';

export type Bearer =
  | { readonly bearer: string; readonly isAccessKey: boolean }
  | { readonly problem: BearerProblem };

export type BearerProblem =
  | 'Missing'
  | 'NotBearer'
  | 'Twice'
  | 'TooLong'
  | 'MalformedKey'
  | 'InTwoPlaces'
  | 'TwoProtocols'
  | 'OnlyProtocol'
  | 'NotBase64url';

export interface BearerOptions {
  readonly maxBytes: number;
  /** A browser lets no page set `Authorization` of a websocket: there the credential may be a subprotocol instead. */
  readonly isWebSocket: boolean;
}

/** The credential of a request. Headers are name and value in turn, as they came: Node keeps one of two in silence. */
export function readBearer(rawHeaders: readonly string[], { maxBytes, isWebSocket }: BearerOptions): Bearer {
  const [found, another] = valuesOf(rawHeaders, 'authorization');
  const protocol = isWebSocket ? readProtocol(rawHeaders, maxBytes) : undefined;
  if (protocol !== undefined) return found === undefined ? protocol : { problem: 'InTwoPlaces' };
  if (found === undefined) return { problem: 'Missing' };
  if (another !== undefined) return { problem: 'Twice' };
  if (found.length > maxBytes + scheme.length) return { problem: 'TooLong' };
  return hasScheme(found) ? checkForm(found.slice(scheme.length), 'NotBearer') : { problem: 'NotBearer' };
}

const scheme = 'Bearer ';
const anyCase = /^bearer /i;
const hasScheme = (value: string): boolean => value.startsWith(scheme) || anyCase.test(value);
/** Of a subprotocol that is a credential, as the API server reads it. */
export const protocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** Undefined where no subprotocol holds a credential. */
function readProtocol(rawHeaders: readonly string[], maxBytes: number): Bearer | undefined {
  const offered = valuesOf(rawHeaders, 'sec-websocket-protocol')
    .flatMap((value) => value.split(','))
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '');
  const [found, another] = offered.filter((protocol) => protocol.startsWith(protocolPrefix));
  if (found === undefined) return undefined;
  if (another !== undefined) return { problem: 'TwoProtocols' };
  // The answer to the client names one of the protocols, and must never name the credential.
  if (offered.length === 1) return { problem: 'OnlyProtocol' };
  const encoded = found.slice(protocolPrefix.length);
  if (encoded.length > Math.ceil((maxBytes * 4) / 3)) return { problem: 'TooLong' };
  if (!/^[\w-]+$/.test(encoded) || encoded.length % 4 === 1) return { problem: 'NotBase64url' };
  const bearer = Buffer.from(encoded, 'base64url').toString('latin1');
  return checkForm(bearer, 'NotBase64url');
}

function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isHeader(rawHeaders[index], name)) continue;
    values ??= [];
    values.push(rawHeaders[index + 1] ?? '');
  }
  return values ?? none;
}

const none: readonly string[] = [];

const bearerText = /^[\x21-\x7e]+$/;

/** A typing error is told apart before any look-up. A whole key has letters and digits alone. */
function checkForm(bearer: string, otherwise: BearerProblem): Bearer {
  const form = checkAccessKey(bearer);
  if (form === 'whole') return { bearer, isAccessKey: true };
  if (!bearerText.test(bearer)) return { problem: otherwise };
  return form === 'supplied' ? { bearer, isAccessKey: false } : { problem: 'MalformedKey' };
}
