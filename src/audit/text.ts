/** Texts as they stand in a line: on one line, in ASCII, cut to size, and without anything that looks like a credential. */

const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** A JSON string in ASCII alone: so many characters are so many bytes, and no reader breaks the line. */
export const jsonText = (text: string): string => (plain.test(text) ? `"${text}"` : escaped(text));

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const maxCommon = 64;
const maxKnown = 1_024;

/**
 * Returns a function that does the same as `make`, and remembers the results for texts that many lines have in common, such as a verb.
 * Long texts are left out, or strangers could fill the memory with them, and so are secrets.
 */
export function rememberedText(make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (text.length > maxCommon || !plain.test(text) || holdsSecret(text)) return made;
    if (known.size >= maxKnown) known.clear();
    const kept = inOnePiece(made);
    // A part of a URL would keep all of that URL in memory.
    known.set(inOnePiece(text), kept);
    return kept;
  };
}

export function jsonList(texts: readonly string[]): string {
  let list = '';
  for (const text of texts) list += list === '' ? jsonText(text) : `,${jsonText(text)}`;
  return `[${list}]`;
}

/** At most so many characters; the last one says that there were more. */
export const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1)}…` : text;

const censored = '[redacted]';

/**
 * The form of access keys, of tokens, of both in base64 (also behind a name, of one or two letters beyond a group of three), and of values
 * of `Authorization`. No name of a Kubernetes object has it.
 */
const secretShape =
  /(?:lk_|eyJ|bGtf|ZXlK)[\w.+/=%~-]{8,}|(?:[GWm2](?:xrX[z0-3]|V5S[j-n])|leU[op]|sa1[89](?=[^A-Z]{0,32}[A-Z]))[\w.+/=%~-]{16,}|(?:[Bb]earer|[Bb]asic|BEARER|BASIC)(?:[\s+]|%20)+[^\s&]{8,}|PRIVATE(?:[\s+]|%20)KEY[\s\S]*/g;
/** Its shortest form: most names and verbs are shorter. */
const minSecret = 11;
/** Most longer texts hold none of it, and cost no more than this. */
const secretMark = /lk_|eyJ|bGtf|ZXlK|xrX|V5S|leU|sa1|earer|asic|EARER|ASIC|PRIVATE/;

const mayHoldSecret = (text: string): boolean => text.length >= minSecret && secretMark.test(text);

export const withoutSecrets = (text: string): string =>
  mayHoldSecret(text) ? text.replace(secretShape, censored) : text;

export const holdsSecret = (text: string): boolean => mayHoldSecret(text) && text.search(secretShape) >= 0;

const ordinary = /^[a-z\d./:-]*$/;

/** Most paths and names are: no form of a secret is made of these characters alone, and neither a URL nor JSON changes them. */
export const isOrdinary = (text: string): boolean => ordinary.test(text);

/** The text with what is percent-encoded in it; undefined where that is no text. */
export function decode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Each letter that is percent-encoded, also twice or three times, whether or not the whole is a text. */
export function unescaped(text: string): string {
  let result = text;
  for (let times = 0; times < 3 && result.includes('%'); times += 1)
    result = result.replace(/%([\da-f]{2})/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  return result;
}

/** A text that was put together of many is read part by part for each line that it becomes part of, unless it was copied once. */
export const inOnePiece = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

const maxUserAgent = 256;
const maxAgents = 64;
/** The latest ones that stand in a line as they were sent: a client sends the same one with each request. */
const agents = new Set<string>();

/** A client may write anything here, its own credential included. */
export function userAgentText(sent: string): string {
  if (agents.has(sent)) return sent;
  const decoded = unescaped(sent);
  const text = cut(decoded !== sent && holdsSecret(decoded) ? censored : withoutSecrets(sent), maxUserAgent);
  if (agents.size >= maxAgents) agents.clear();
  if (sent === text) agents.add(sent);
  return text;
}
