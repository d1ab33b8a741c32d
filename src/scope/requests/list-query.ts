/** The meaning of the query of a list for its authorisation. */
export interface ListQuery {
  readonly watch: boolean;
  /** The one object that a field selector on `metadata.name` leaves; empty where there is none. */
  readonly name: string;
}

const none: ListQuery = { watch: false, name: '' };

/** Reads a query as the API server does. Undefined for one that it, or the storage behind it, could understand in another way. */
export function readListQuery(query: string): ListQuery | undefined {
  if (query.length < 2) return none;
  if (hasTooManyPairs(query)) return undefined;
  const values = firstValues(readPairs(query));
  const watch = values.get('watch');
  if (watch !== undefined && /[^\x20-\x7e]/.test(watch)) return undefined;
  const name = selectedName(values);
  return name === undefined
    ? undefined
    : { watch: watch !== undefined && !/^(?:0|false)$/i.test(watch), name };
}

/** Above ten thousand the API server reads none of them. */
const maxPairs = 1_000;

export const hasTooManyPairs = (query: string): boolean => query.split('&', maxPairs + 1).length > maxPairs;

const interesting: ReadonlySet<string> = new Set([
  'watch',
  'fieldSelector',
  'labelSelector',
  'limit',
  'timeoutSeconds',
]);

export interface QueryPair {
  readonly key: string;
  readonly value: string;
  /** As it was sent. */
  readonly text: string;
}

/**
 * The pairs of a query, which begins with a question mark, that the API server reads. One with a semicolon or a broken encoding it does
 * not.
 */
export function readPairs(query: string): readonly QueryPair[] {
  return query
    .slice(1)
    .split('&')
    .flatMap((text) => {
      if (text === '' || text.includes(';')) return [];
      const end = text.indexOf('=');
      const key = unescapeText(end === -1 ? text : text.slice(0, end));
      const value = end === -1 ? '' : unescapeText(text.slice(end + 1));
      return key === undefined || value === undefined ? [] : [{ key, value, text }];
    });
}

/** Only the first value of a parameter counts. */
export function firstValues(pairs: readonly QueryPair[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const { key, value } of pairs) {
    if (interesting.has(key) && !values.has(key)) values.set(key, value);
  }
  return values;
}

/** Bytes that are no UTF-8 become U+FFFD, which is refused where it matters. */
function unescapeText(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  if (/%(?![0-9a-f]{2})/i.test(spaced)) return undefined;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return '\ufffd';
  }
}

/** Empty where the options select no object by its name, or cannot be read: then the API server knows no name either. */
function selectedName(values: ReadonlyMap<string, string>): string | undefined {
  const selector = values.get('fieldSelector');
  if (selector === undefined) return '';
  const label = values.get('labelSelector') ?? '';
  if (unreadable.test(selector) || unreadable.test(label)) return undefined;
  if (!selector.includes('metadata.name')) return '';
  const names = requiredNames(selector);
  const readable = isInteger(values.get('limit')) && isInteger(values.get('timeoutSeconds'));
  if (names === undefined || !readable || !isLabelSelector(label)) return '';
  // Nothing has two names, and the API server judges by the one that it sorts first.
  if (new Set(names).size > 1 && /[^\x20-\x7e]/.test(selector)) return undefined;
  const [name = ''] = names;
  return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
}

/** Control characters but white space, and what was no UTF-8. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const unreadable = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd]/;

/** The values that `metadata.name` must have, in the order in which the API server finds them. Undefined for a selector that is none. */
function requiredNames(selector: string): readonly string[] | undefined {
  const names: string[] = [];
  for (const term of (selector.match(/(?:\\.|[^,\\])+|\\$/gs) ?? []).sort()) {
    const [, field, operator, value] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? [];
    if (value === undefined || !/^(?:[^\\,=]|\\[\\,=])*$/.test(value)) return undefined;
    if (field === 'metadata.name' && operator !== '!=') names.push(value.replace(/\\(.)/gs, '$1'));
  }
  return names;
}

const maxInteger = 2n ** 63n;

/** As the API server reads one: a whole number of 64 bits, or none at all. */
export function isInteger(value: string | undefined): boolean {
  if (value === undefined) return true;
  const [, sign = '', digits] = /^([+-]?)0*(\d{1,19})$/.exec(value) ?? [];
  if (digits === undefined) return false;
  const number = BigInt(`${sign === '-' ? sign : ''}${digits}`);
  return -maxInteger <= number && number < maxInteger;
}

const name = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const value = `(?:${name})?`;
const prefix =
  '(?=[-.a-z0-9]{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/';
const key = `(?:${prefix})?${name}`;
// A space in front of nothing has one place only, or a long list of nothings would be tried in every combination.
const item = ` ?(?:${name} ?)?`;
const list = `\\(${item}(?:,${item})*\\)`;
const requirement = new RegExp(
  `^ ?(?:! ?${key}|${key}(?: ?(?:==?|!=) ?${value}| ?[<>] ?(?<number>\\d{1,63})| (?:not)?in ?${list})?) ?$`,
);

/** Whether the API server can read this label selector. What it cannot read it answers by itself. */
function isLabelSelector(selector: string): boolean {
  // One space for many: with two readings of each the pattern would try all of them.
  const text = selector.replace(/[ \t\r\n]+/g, ' ');
  return /^ ?$/.test(text) || splitAtCommas(text).every(isRequirement);
}

/** Commas in parentheses belong to the list of values. */
const splitAtCommas = (text: string): readonly string[] =>
  text.replace(/\([^()]*\)/g, (values) => values.replaceAll(',', '\0')).split(',');

function isRequirement(text: string): boolean {
  const match = requirement.exec(text.replaceAll('\0', ','));
  if (match === null) return false;
  const number = match.groups?.['number'];
  return number === undefined || BigInt(number) < 2n ** 63n;
}
