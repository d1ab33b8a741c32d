export interface JsonBounds {
  readonly maxLevels: number;
  /** Each value takes some sixty bytes of memory, whatever its text takes. */
  readonly maxValues: number;
}

const ofAnswers: JsonBounds = {
  /** API servers keep up to 10,000 levels in managed fields: with fewer here, a user could have a whole list refused. */
  maxLevels: 10_100,
  /** One object of the 2 MiB that API servers store at most can hold that many, as owner references. */
  maxValues: 750_000,
};

const quote = 0x22;
const backslash = 0x5c;
const codes = (characters: string): readonly number[] => Array.from(characters, (one) => one.charCodeAt(0));
/** Tables of every character code: looking through a text takes no longer than parsing it. */
const levelSteps = new Int8Array(0x1_0000);
const valueSteps = new Int8Array(0x1_0000);
/** Before each value but the first of a text stands one of these. */
for (const code of codes('[{,')) valueSteps[code] = 1;
for (const code of codes('[{')) levelSteps[code] = 1;
for (const code of codes(']}')) levelSteps[code] = -1;

/**
 * Whether JSON text nests so little and holds so few values that parsing it, and writing what came of it, costs no more
 * than its length says. Reads text that is no JSON as well, to its end.
 */
export function withinJsonBounds(text: string, { maxLevels, maxValues } = ofAnswers): boolean {
  let level = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    level += levelSteps[code] ?? 0;
    values += valueSteps[code] ?? 0;
    if (level > maxLevels || values > maxValues) return false;
  }
  return true;
}

/** Where the closing quote of the string stands that begins at `start`, or the end of the text. */
export function endOfString(text: string, start: number): number {
  // Strings are most of a long text, and to look for a quote is much faster than to read each character.
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === backslash) before--;
  return (at - before) % 2 === 1;
}

/** Whether an object in a JSON text has a key twice: readers differ about which one counts. The text can be read as JSON. */
export function hasRepeatedKey(json: string): boolean {
  /** Keys of the objects that are open; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '{':
        open.push(new Set());
        isKeyNext = true;
        break;
      case '[':
        open.push(undefined);
        isKeyNext = false;
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        isKeyNext = open.at(-1) !== undefined;
        break;
      case '"': {
        const end = endOfString(json, at);
        if (isKeyNext && isRepeated(open.at(-1), json.slice(at, end + 1))) return true;
        isKeyNext = false;
        at = end;
      }
    }
  }
  return false;
}

/** One key can be written in several ways. */
function isRepeated(keys: Set<string> | undefined, text: string): boolean {
  const key: string = text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
  if (keys?.has(key)) return true;
  keys?.add(key);
  return false;
}
