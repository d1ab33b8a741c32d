/** Texts as they stand in a line: on one line, in ASCII, cut to size, and without anything that looks like a credential. */

const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** A JSON string in ASCII alone: so many characters are so many bytes, and no reader breaks the line. */
export const jsonText = (text: string): string => (plain.test(text) ? `"${text}"` : escaped(text));

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const jsonList = (texts: readonly string[]): string => `[${texts.map(jsonText).join(',')}]`;

/** At most so many characters; the last one says that there were more. */
export const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1)}…` : text;

const censored = '[redacted]';

/** The form of access keys, of tokens, of both in base64, and of values of `Authorization`. No name of a Kubernetes object has it. */
const secretShape =
  /(?:lk_|eyJ|bGtf|ZXlK)[\w.+/=%~-]{8,}|(?:[Bb]earer|[Bb]asic|BEARER|BASIC)(?:[\s+]|%20)+[^\s&]{8,}|PRIVATE(?:[\s+]|%20)KEY[\s\S]*/g;
/** Most texts hold none of it, and cost no more than this. */
const secretMark = /lk_|eyJ|bGtf|ZXlK|earer|asic|EARER|ASIC|PRIVATE/;

export const withoutSecrets = (text: string): string =>
  secretMark.test(text) ? text.replace(secretShape, censored) : text;

export const holdsSecret = (text: string): boolean => secretMark.test(text) && text.search(secretShape) >= 0;

/** The text with what is percent-encoded in it; undefined where that is no text. */
export function decode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const maxUserAgent = 256;

/** A client may write anything here, its own credential included. */
export function userAgentText(sent: string): string {
  const decoded = decode(sent) ?? '';
  return cut(decoded !== sent && holdsSecret(decoded) ? censored : withoutSecrets(sent), maxUserAgent);
}
