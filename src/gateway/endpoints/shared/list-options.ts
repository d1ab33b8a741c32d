import { asObject, isObject, type JsonObject } from '../../../api/json.ts';
import { isInteger } from '../../../scope/requests/list-query.ts';
import { refuse } from './reply.ts';

/** Refuses what the API server refuses of the options of a list or a watch, by themselves. Throws a Refusal. */
export function checkListOptions(query: URLSearchParams, isWatch: boolean): void {
  const problems = isWatch ? watchProblems(query) : listProblems(query);
  if (problems.length > 0) refuse('ERR_QUERY_INVALID', { problem: problems.join('; ') });
}

function listProblems(query: URLSearchParams): readonly string[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const isMatched = match !== '';
  return toProblems([
    [isMatched && version === '', 'resourceVersionMatch needs resourceVersion'],
    [isMatched && isContinued(query), 'resourceVersionMatch cannot stand beside continue'],
    [isMatched && !matches.has(match), 'resourceVersionMatch must be Exact or NotOlderThan'],
    [match === 'Exact' && version === '0', 'resourceVersionMatch cannot be Exact with the resourceVersion 0'],
    [query.has('sendInitialEvents'), 'sendInitialEvents is for watches'],
  ]);
}

function watchProblems(query: URLSearchParams): readonly string[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const isMatched = match !== '';
  const isOther = match !== 'NotOlderThan';
  const sendsInitial = query.has('sendInitialEvents');
  return toProblems([
    [sendsInitial && isOther, 'sendInitialEvents needs resourceVersionMatch=NotOlderThan'],
    [isMatched && !sendsInitial, 'resourceVersionMatch of a watch needs sendInitialEvents'],
    [isMatched && isOther, 'resourceVersionMatch of a watch must be NotOlderThan'],
    [isMatched && isContinued(query), 'resourceVersionMatch cannot stand beside continue'],
  ]);
}

const toProblems = (checks: readonly (readonly [boolean, string])[]): readonly string[] =>
  checks.flatMap(([isProblem, text]) => (isProblem ? [text] : []));

const matches: ReadonlySet<string> = new Set(['Exact', 'NotOlderThan']);
const isContinued = (query: URLSearchParams): boolean => (query.get('continue') ?? '') !== '';

/** How many objects at most. Throws a Refusal. */
export function readLimit(query: URLSearchParams): number {
  const text = query.get('limit') ?? undefined;
  if (!isInteger(text)) return refuse('ERR_QUERY', { problem: 'limit is no number' });
  const limit = Number(text ?? 0);
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

/** How new a list or an object has to be. */
export interface WantedVersion {
  readonly resourceVersion: string;
  /** Whether it must be that very one. */
  readonly isExact: boolean;
}

/** Undefined where any version will do. Throws a Refusal. */
export function readWantedVersion(query: URLSearchParams): WantedVersion | undefined {
  const number = readVersion(query);
  if (number === 0n) return undefined;
  if (isContinued(query))
    return refuse('ERR_QUERY', { problem: 'resourceVersion cannot stand beside continue' });
  const match = query.get('resourceVersionMatch') ?? '';
  // As from the time before there was a word for it.
  const isLegacyExact = match === '' && Number.isFinite(readLimit(query));
  return { resourceVersion: String(number), isExact: match === 'Exact' || isLegacyExact };
}

/** The version that one object must not be older than. Undefined where any will do. Throws a Refusal. */
export function readOldestVersion(query: URLSearchParams): WantedVersion | undefined {
  const number = readVersion(query);
  return number === 0n ? undefined : { resourceVersion: String(number), isExact: false };
}

/** An empty one is none that is asked for, like 0. */
function readVersion(query: URLSearchParams): bigint {
  const text = query.get('resourceVersion') ?? '';
  return isVersion(text) ? BigInt(text) : refuse('ERR_QUERY', { problem: 'resourceVersion is none' });
}

const isVersion = (text: string): boolean => /^\d{0,20}$/.test(text) && BigInt(text) < 2n ** 64n;

export type ObjectFilter = (object: JsonObject) => boolean;

type LabelTest = (labels: JsonObject) => boolean;

const key = '(?:[A-Za-z0-9./-]|_)+';
const value = '[A-Za-z0-9._-]*';
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const existence = new RegExp(`^(!?)\\s*(${key})$`);

/** Parses a label selector into its filter; undefined for one that cannot be read. */
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

/** Parses a field selector for a kind with these fields; undefined for one that cannot be read, or names another field. */
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

/** In what form a client takes objects. */
export interface AcceptedForm {
  /** For the API server, which answers us in JSON. */
  readonly accept: string;
  readonly isTable: boolean;
  readonly isMetadata: boolean;
}

/** Reads `Accept` as the API server does for kinds like ours. Undefined when nothing in it is served. */
export function readAccept(accept = ''): AcceptedForm | undefined {
  if (accept.trim() === '') return wholeObject;
  for (const part of accept.split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    if (!servedTypes.has(type.toLowerCase())) continue;
    const given = Object.fromEntries(parameters.map((text) => text.split('=', 2)));
    const as = given['as'];
    if (as === undefined) return wholeObject;
    if (!forms.has(as) || given['g'] !== 'meta.k8s.io' || given['v'] !== 'v1') continue;
    const wanted = `application/json;as=${as};v=v1;g=meta.k8s.io`;
    return { accept: wanted, isTable: as === 'Table', isMetadata: as !== 'Table' };
  }
  return undefined;
}

export const wholeObject: AcceptedForm = { accept: 'application/json', isTable: false, isMetadata: false };
const servedTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/yaml',
  'application/*',
  '*/*',
]);
const forms: ReadonlySet<string> = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

/** An object as `PartialObjectMetadata`. */
export const metadataOf = (object: unknown): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: asObject(object)['metadata'],
});

/** The whole objects of a Table that was asked for with them. */
export const objectsOf = (table: JsonObject): readonly JsonObject[] =>
  rowsOf(table).map((row) => asObject(row['object']));

/** A Table with as much of each object as the client asked for by `includeObject`. */
export function withIncluded(table: JsonObject, includeObject: string | null): JsonObject {
  const shorten = (object: unknown) => {
    if (includeObject === 'None') return null;
    return includeObject === 'Object' ? object : metadataOf(object);
  };
  return { ...table, rows: rowsOf(table).map((row) => ({ ...row, object: shorten(row['object']) })) };
}

export const rowsOf = (table: JsonObject): readonly JsonObject[] =>
  Array.isArray(table['rows']) ? table['rows'].filter(isObject) : [];
