import { accessKeyPrefix, checkAccessKey } from '../../credentials/keys/access-key.ts';

export type Bearer =
  | { readonly bearer: string; readonly isAccessKey: boolean }
  | { readonly problem: BearerProblem };

export type BearerProblem = 'Missing' | 'NotBearer' | 'Twice' | 'TooLong' | 'MalformedKey';

/** The credential of a request. Headers are name and value in turn, as they came: Node keeps one of two in silence. */
export function readBearer(rawHeaders: readonly string[], maxBytes: number): Bearer {
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length !== authorization.length || name.toLowerCase() !== authorization) continue;
    if (found !== undefined) return { problem: 'Twice' };
    found = rawHeaders[index + 1] ?? '';
  }
  if (found === undefined) return { problem: 'Missing' };
  if (found.length > maxBytes + scheme.length) return { problem: 'TooLong' };
  const [, bearer] = /^bearer ([\x21-\x7e]+)$/i.exec(found) ?? [];
  return bearer === undefined ? { problem: 'NotBearer' } : checkForm(bearer);
}

const authorization = 'authorization';
const scheme = 'Bearer ';

/** A typing error is told apart before any look-up. */
function checkForm(bearer: string): Bearer {
  if (!bearer.startsWith(accessKeyPrefix)) return { bearer, isAccessKey: false };
  return checkAccessKey(bearer) === 'whole' ? { bearer, isAccessKey: true } : { problem: 'MalformedKey' };
}
