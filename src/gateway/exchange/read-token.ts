import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { hasRepeatedKey, type JsonBounds, withinJsonBounds } from '../../kube/client/json-bounds.ts';

/** A signed token, taken apart. Nothing of it is believed yet. */
export interface ReadToken {
  readonly text: string;
  readonly header: JsonObject;
  readonly claims: JsonObject;
  readonly issuer: string;
}

export type TokenReading = ReadToken | { readonly problem: string };

/** A token with hundreds of groups has less. */
const maxLength = 16_384;
const bounds: JsonBounds = { maxLevels: 8, maxValues: 1_024 };

/** Reads the form of a token. No problem quotes it. */
export function readToken(text: string): TokenReading {
  if (text.length > maxLength) return { problem: `it has more than ${maxLength} characters` };
  const parts = text.split('.');
  if (parts.length !== 3) return { problem: 'it is not a signed JWT of three parts' };
  if (!parts.every(isBase64url)) return { problem: 'it is not base64url without padding' };
  const [header, claims] = parts.map(parsePart);
  if (header === undefined || claims === undefined)
    return { problem: 'its header or its claims are not one JSON object with each key once' };
  const { iss: issuer } = claims;
  if (typeof issuer !== 'string' || issuer === '') return { problem: 'iss must be a text' };
  return { text, header, claims, issuer };
}

/** In the one way that there is: two texts must not be one token. */
const isBase64url = (part: string): boolean =>
  /^[\w-]+$/.test(part) && Buffer.from(part, 'base64url').toString('base64url') === part;

function parsePart(part: string): JsonObject | undefined {
  const bytes = Buffer.from(part, 'base64url');
  const text = isUtf8(bytes) ? bytes.toString('utf8') : '';
  const value = withinJsonBounds(text, bounds) ? parseJSON(text) : undefined;
  return isObject(value) && !hasRepeatedKey(text) ? value : undefined;
}

/** Headers that ask for something: another key, another reading of the token, or rules that must be known. */
const refusedHeaders = ['jku', 'x5u', 'jwk', 'crit', 'b64', 'zip', 'enc', 'cty'];

/** Why a token with this header is none to be exchanged. */
export function headerProblem({ header }: ReadToken, algorithms: readonly string[]): string | undefined {
  const { alg, typ, kid } = header;
  if (typeof alg !== 'string' || !algorithms.includes(alg))
    return `alg must be one of ${algorithms.join(', ')}`;
  const refused = refusedHeaders.find((name) => name in header);
  if (refused !== undefined) return `its header has ${refused}, which is not taken`;
  // Tokens for other purposes, as access tokens, say so here.
  if (typ !== undefined && !/^(?:application\/)?jwt$/i.test(String(typ))) return 'typ must be JWT';
  return kid === undefined || (typeof kid === 'string' && kid !== '') ? undefined : 'kid must be a text';
}
