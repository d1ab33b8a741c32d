import { asObject, parseJSON } from '../../api/json.ts';
import { group } from '../../api/names.ts';

/**
 * Whether a bearer string is one of our signed tokens whose own end is past. The operator forgets the hash of a token that has ended, so
 * only the token still says so. Nothing is granted by it, and who holds the token can read it: no signature is checked.
 */
export function expiredToken(bearer: string, now: number): 'kubeconfig' | 'token' | undefined {
  const [, payload, signature, rest] = bearer.split('.');
  if (payload === undefined || signature === undefined || rest !== undefined) return undefined;
  const claims = asObject(parseJSON(Buffer.from(payload, 'base64url').toString('utf8')));
  const { exp } = claims;
  if (typeof exp !== 'number' || now < exp * 1_000) return undefined;
  const kind = asObject(asObject(claims[group])['object'])['kind'];
  if (kind === 'VirtualClusterInstanceKubeConfig') return 'kubeconfig';
  return kind === 'DirectClusterEndpointToken' ? 'token' : undefined;
}
