import { asObject, type JsonObject } from '../../api/json.ts';

export type ObjectFilter = (object: JsonObject) => boolean;

type LabelTest = (labels: JsonObject) => boolean;

const key = '(?:[A-Za-z0-9./-]|_)+';
const value = '[A-Za-z0-9._-]*';
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const existence = new RegExp(`^(!?)\\s*(${key})$`);

/** What a label selector selects; undefined for one that cannot be read. */
export function labelFilter(selector: string): ObjectFilter | undefined {
  const tests = splitAtCommas(selector).map(readRequirement);
  if (tests.some((test) => test === undefined)) return undefined;
  return (object) => {
    const labels = asObject(asObject(object['metadata'])['labels']);
    return tests.every((test) => test?.(labels));
  };
}

/** Commas in parentheses belong to the list of values. To look ahead from each comma would take its square. */
function splitAtCommas(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const parts: string[] = [];
  let start = 0;
  let isInList = false;
  for (const { 0: mark, index } of text.matchAll(/[(),]/g)) {
    if (mark !== ',') isInList = mark === '(';
    if (mark !== ',' || isInList) continue;
    parts.push(text.slice(start, index));
    start = index + 1;
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}

function readRequirement(text: string): LabelTest | undefined {
  const equal = equality.exec(text);
  if (equal !== null) return oneOf(equal[1] ?? '', [equal[3] ?? ''], equal[2] !== '!=');
  const member = membership.exec(text);
  if (member !== null) {
    const values = (member[3] ?? '').split(',').map((item) => item.trim());
    return oneOf(member[1] ?? '', values, member[2] === 'in');
  }
  const exists = existence.exec(text);
  if (exists === null) return undefined;
  return (labels) => Object.hasOwn(labels, exists[2] ?? '') === (exists[1] === '');
}

/** A label that is not there has none of the values. */
const oneOf =
  (name: string, values: readonly string[], wanted: boolean): LabelTest =>
  (labels) =>
    (Object.hasOwn(labels, name) && values.includes(String(labels[name]))) === wanted;

/** What a field selector selects of a kind with these fields; undefined for one that cannot be read, or names another field. */
export function fieldFilter(selector: string, fields: ReadonlySet<string>): ObjectFilter | undefined {
  const terms = selector === '' ? [] : selector.split(',');
  const tests = terms.map((term) => {
    const [, field = '', operator = '', wanted = ''] = /^([\w.]+)(==|=|!=)([^\\,=]*)$/.exec(term) ?? [];
    if (!fields.has(field)) return undefined;
    return (object: JsonObject) => (readField(object, field) === wanted) === (operator !== '!=');
  });
  if (tests.some((test) => test === undefined)) return undefined;
  return (object) => tests.every((test) => test?.(object));
}

/** As the API server compares it: an absent field is empty. */
function readField(object: JsonObject, field: string): string {
  const found = field.split('.').reduce<unknown>((part, name) => asObject(part)[name], object);
  return found === undefined || found === null ? '' : String(found);
}
