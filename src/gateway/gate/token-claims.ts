import { asObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { group } from '../../api/names.ts';

/**
 * Reads the claims of a bearer string where it is a signed token; empty for anything else. Nothing is granted by them, and who
 * holds the token can read it: no signature is checked.
 */
export function claimsIn(bearer: string): JsonObject {
  const [, payload, signature, rest] = bearer.split('.');
  if (payload === undefined || signature === undefined || rest !== undefined) return {};
  return asObject(parseJSON(Buffer.from(payload, 'base64url').toString('utf8')));
}

/** One of ours whose own end is past. The operator forgets the hash of a token that has ended, so only the token still says so. */
export function expiredToken(claims: JsonObject, now: number): 'kubeconfig' | 'token' | undefined {
  const { exp } = claims;
  if (typeof exp !== 'number' || now < exp * 1_000) return undefined;
  const kind = kindIn(claims);
  if (kind === 'VirtualClusterInstanceKubeConfig') return 'kubeconfig';
  return kind === 'DirectClusterEndpointToken' ? 'token' : undefined;
}

/** One that some API server has issued to a ServiceAccount. */
export const isOfServiceAccount = ({ sub }: JsonObject): boolean =>
  typeof sub === 'string' && sub.startsWith('system:serviceaccount:');

/** Of the object that one of ours belongs to. */
export const kindIn = (claims: JsonObject): unknown => asObject(asObject(claims[group])['object'])['kind'];
