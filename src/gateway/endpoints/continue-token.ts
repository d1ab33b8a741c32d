import { hash } from 'node:crypto';
import { asObject, asText, asTexts, parseJSON } from '../../api/json.ts';
import type { Holder } from '../index/ownership.ts';

/** API servers keep theirs about as long. */
const lifeMs = 300_000;

/** Where a list has got to. */
export interface ListPlace {
  /** The key that the page before ended with. */
  readonly after: string;
  /** Keys of what comes behind everything else. */
  readonly last: readonly string[];
}

/**
 * Where the next page of a list begins. It names an object of the holder and gives nothing: each page is judged again. It is good
 * for this holder and for some minutes.
 */
export function writeContinue(place: ListPlace, holder: Holder, now: number): string {
  const token = { v: 2, ...place, holder: markOf(holder), until: now + lifeMs };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** Undefined for a token that is too old, or of another holder. */
export function readContinue(text: string, holder: Holder, now: number): ListPlace | undefined {
  const token = parse(text);
  const until = Number(token['until']);
  const isGood =
    token['v'] === 2 && token['holder'] === markOf(holder) && until > now && until <= now + lifeMs;
  const after = asText(token['after']);
  return isGood && after !== undefined ? { after, last: asTexts(token['last']) } : undefined;
}

const parse = (text: string) => asObject(parseJSON(Buffer.from(text, 'base64url').toString('utf8')));

/** With a scope it is good for the one credential. */
const markOf = ({ identity, gates, record }: Holder): string =>
  hash('sha256', JSON.stringify([identity.user, gates.length === 0 ? '' : record.uid]), 'base64url');
