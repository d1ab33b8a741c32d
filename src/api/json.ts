export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value itself when it is a JSON object, else an empty one. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value itself when it is a string that is not empty. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whether a field says anything: to leave it out, null and '' mean the same. */
export const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/** The strings of a list; anything else in it is left out. */
export function asTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The value itself when it is an integer of at least 0 that JavaScript holds exactly. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Levels of an object that a client sends: more than any schema of ours has. */
export const maxLevels = 64;

/** Whether it has more. To copy or to write what has thousands of levels exhausts the stack. */
export const nestsTooDeep = (value: unknown, levels = maxLevels): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => nestsTooDeep(item, levels - 1)));

/**
 * Whether it has a number that would go on as another one: an infinite one becomes null in JSON, and whole numbers beyond 2^53 are held
 * roughly. Its levels are few.
 */
export function hasInexactNumber(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInexactNumber);
}

/** The members that can be `undefined` become optional ones. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Leaves out the members that are `undefined`. A plain loop: it runs for every object of a list, and entries cost five times as much. */
export function defined<T extends object>(object: T): Defined<T> {
  const kept: Partial<T> = {};
  for (const name in object) if (object[name] !== undefined) kept[name] = object[name];
  return kept as never;
}

/** Parses the text; undefined where it is no JSON. The parser's own message would quote it, and it may be a secret. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
