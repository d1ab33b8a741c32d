/** Characters that one generation may hold. */
const maxCharacters = 4 * 2 ** 20;
/** The cost of an entry besides its text, in characters; so that many short ones count as well. */
const entryCost = 64;
/** A longer text is rarely equal to anything, and a few of them would push out all others. */
const maxLength = 2_048;

/**
 * Keeps one copy of what many records have in common: names, groups, scopes. Users choose these values, so the memory is
 * bounded: there are two generations, and when the young one is full, the old one is forgotten with all that no one asked
 * for since. What is forgotten lives on in its records; later ones only get a copy of their own.
 */
export class SharedValues {
  readonly #texts: Generations<string>;
  readonly #values: Generations<object>;

  constructor(characters = maxCharacters) {
    this.#texts = new Generations(characters);
    this.#values = new Generations(characters);
  }

  text(value: string): string;
  text(value: string | undefined): string | undefined;
  text(value: string | undefined): string | undefined {
    if (value === undefined || value.length > maxLength) return value;
    return this.#texts.get(value) ?? this.#texts.put(value, value);
  }

  /** For what came out of JSON. The answer is frozen: a change would reach other credentials. */
  json<T>(value: T): T {
    if (typeof value !== 'object' || value === null) return value;
    const text = jsonOf(value);
    return text === undefined || text.length > maxLength ? value : this.fromJSON<T>(text);
  }

  /** The same by its text, an object or a list in JSON of at most {@link maxLength} characters. */
  fromJSON<T>(text: string): T {
    return (this.#values.get(text) ?? this.#values.put(text, deepFreeze(JSON.parse(text) as object))) as T;
  }
}

class Generations<V> {
  readonly #maxCharacters: number;
  #young = new Map<string, V>();
  #old: ReadonlyMap<string, V> = new Map();
  #characters = 0;

  constructor(characters: number) {
    this.#maxCharacters = characters;
  }

  get(text: string): V | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    return old === undefined ? undefined : this.put(text, old);
  }

  put(text: string, value: V): V {
    this.#characters += text.length + entryCost;
    if (this.#characters > this.#maxCharacters) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#characters = text.length + entryCost;
    }
    this.#young.set(text, value);
    return value;
  }
}

/** For all records of the process, of whichever store. */
export const shared = new SharedValues();

/** `undefined` for what is nested too deep to be written. */
function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value))
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  return Object.freeze(value);
}
