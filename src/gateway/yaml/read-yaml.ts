import {
  type Document,
  isCollection,
  isScalar,
  parseDocument,
  Scalar,
  type ScalarTag,
  type Tags,
  visit,
  type YAMLMap,
} from 'yaml';
import { hasInexactNumber, maxLevels } from '../../api/json.ts';
import { resolvePlain } from './plain-scalar.ts';

/** The content of a text, as JSON, or why it is not read. No problem quotes the text, which may hold a key. */
export type YAMLReading = { readonly json: string } | { readonly problem: string };

/**
 * YAML 1.1 as the API server reads it, one document. Keys that are collections are refused: the reader writes each of them out again at
 * every level, and 800 bytes of them take it a minute.
 */
export function readYAML(text: string): YAMLReading {
  try {
    // A byte order mark may begin it.
    return { json: toJSON(text.replace(/^\ufeff/, '')) };
  } catch (error) {
    return { problem: error instanceof YAMLProblem ? error.message : noYAML };
  }
}

/** Whether it can be read as JSON: what comes from kubectl is JSON, also under the name of YAML. */
export const looksLikeJSON = (text: string): boolean =>
  text.trimStart().startsWith('{') && !oddCharacter.test(text) && !oddEscape.test(text);

class YAMLProblem extends Error {}

const noYAML = 'it is no YAML';

export const keyTwice = 'a key stands twice in it';
export const inexactNumber =
  'it has a number that is infinite, or whole and beyond 2^53: only roughly would it go on';
export const tooDeep = `it nests deeper than ${maxLevels} levels`;

function toJSON(text: string): string {
  if (oddCharacter.test(text))
    throw new YAMLProblem('it has a character that YAML does not have, or that breaks a line');
  if (tabInFront.test(text)) throw new YAMLProblem('a tab stands where a line begins');
  if (/^%/m.test(text)) throw new YAMLProblem('a line of it begins with %');
  const document = parseDocument(text, options);
  const [error = document.warnings[0]] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS') throw new YAMLProblem('it holds more than one document');
  if (error?.code === 'TAG_RESOLVE_FAILED') throw new YAMLProblem(otherTag);
  if (error !== undefined) throw new YAMLProblem(noYAML);
  if (!isCollection(document.contents) && !isBlank(text)) throw new YAMLProblem('it is not one object');
  checkNodes(document, text);
  const value: unknown = document.toJS({ maxAliasCount: maxAliases });
  if (hasInexactNumber(value)) throw new YAMLProblem(inexactNumber);
  // Keys that are numbers become texts.
  const json = JSON.stringify(value ?? null);
  if (json.length > maxLength) throw new YAMLProblem(tooLong);
  return json;
}

const isBlank = (text: string): boolean => /^(?:\s|#.*)*$/.test(text);

const tabInFront = /^[ ?:-]*\t/m;

const oddCharacter = /[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\r(?!\n)/u;

const maxAliases = 100;

/** Of what is read, as of what is sent: characters. */
const maxLength = 2 ** 20;
const tooLong = `it is longer than ${maxLength} characters as JSON`;

/**
 * Before values are made of them. Aliases of what holds aliases grow without bounds, and to count them the reader goes through the whole
 * document for each.
 */
function checkNodes(document: Document, text: string): void {
  const sizes = new Map<string, number>();
  let aliases = 0;
  let copied = 0;
  const note = (anchor: string | undefined, range: readonly number[] | null | undefined) => {
    if (anchor === undefined) return;
    if (!/^[\w-]+$/.test(anchor))
      throw new YAMLProblem('an anchor has other characters than letters, digits, - and _');
    sizes.set(anchor, range ? (range[1] ?? 0) - (range[0] ?? 0) : maxLength);
  };
  visit(document, {
    Scalar: (_, scalar, above) => {
      note(scalar.anchor, scalar.range);
      checkTag(scalar.tag === textTag ? undefined : scalar.tag);
      checkScalar(scalar, text, above);
    },
    Map: (_, map, above) => {
      note(map.anchor, map.range);
      checkTag(map.tag);
      checkDepth(above);
      checkKeys(map);
    },
    Seq: (_, { anchor, range, tag }, above) => {
      note(anchor, range);
      checkTag(tag);
      checkDepth(above);
    },
    Alias: (_, { source }, above) => {
      aliases += 1;
      copied += sizes.get(source) ?? 0;
      if (aliases > maxAliases) throw new YAMLProblem(`it holds more than ${maxAliases} aliases`);
      if (copied > maxLength) throw new YAMLProblem(tooLong);
      if (above.some((node) => isCollection(node) && node.anchor !== undefined))
        throw new YAMLProblem('an alias is inside of its own anchor');
    },
  });
}

/** Where the reader of the API server reads the same otherwise, or not at all. */
function checkScalar({ type, range }: Scalar, text: string, above: readonly unknown[]): void {
  const [start = 0, end = 0] = range ?? [];
  const written = text.slice(start, end);
  if (type === Scalar.QUOTE_DOUBLE && oddEscape.test(written.replaceAll('\\\\', '')))
    throw new YAMLProblem('it has an escape that YAML 1.1 does not have');
  if (type === Scalar.BLOCK_LITERAL || type === Scalar.BLOCK_FOLDED) checkBlock(written, end === text.length);
  if (!above.some((node) => isCollection(node) && node.flow)) return;
  behind.lastIndex = end;
  const isOdd =
    type === Scalar.PLAIN ? /^:|\?/.test(written) || behind.test(text) : /[^\s,:\]}]/.test(text[end] ?? '');
  if (isOdd || written.includes('\n'))
    throw new YAMLProblem('between brackets, a text needs quotes, one line, or a space behind it');
}

/** A colon that begins no value. */
const behind = /[ \t]*:\S/y;
const oddEscape = /\\(?:\/|u[dD][89a-fA-F])/;

function checkBlock(written: string, isLast: boolean): void {
  if (/^[|>][-+]?\d/.test(written)) throw new YAMLProblem('a block of text says its indentation');
  if (isLast && !written.endsWith('\n')) throw new YAMLProblem('its last line has no end');
}

/** Roughly: a level of a map is two nodes. */
function checkDepth({ length }: readonly unknown[]): void {
  if (length > 2 * maxLevels + 2) throw new YAMLProblem(tooDeep);
}

/** The reader would compare each key with all others. Merged maps are written out again at every level. */
function checkKeys({ items }: YAMLMap): void {
  const keys = new Set(items.map(({ key }) => String(isScalar(key) ? key.value : key)));
  if (keys.size < items.length) throw new YAMLProblem(keyTwice);
  if (keys.has('<<')) throw new YAMLProblem('it merges maps');
  if (!items.every(({ key }) => isScalar(key) && isText(key)))
    throw new YAMLProblem('a key is no text: put it in quotes');
}

/** A key in JSON is a text: of another value it is one in a form of its own, as `true` of `yes`. */
function isText({ type, tag, value }: Scalar): boolean {
  if (type !== Scalar.PLAIN || tag !== undefined) return true;
  const resolved = resolvePlain(String(value));
  if (typeof resolved === 'number') return Number.isSafeInteger(resolved) && String(resolved) === value;
  return resolved !== null && String(resolved) === value;
}

/** Any other tag is read in other ways. */
function checkTag(tag: string | undefined): void {
  if (tag !== undefined) throw new YAMLProblem(otherTag);
}

const otherTag = 'it has a tag other than !!str';
const textTag = 'tag:yaml.org,2002:str';
const structureTags: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:map',
  'tag:yaml.org,2002:seq',
  textTag,
]);
const plainTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:plain',
  default: true,
  test: /^/,
  resolve: resolvePlain,
};

const onlyOurs = (tags: Tags): Tags => [
  ...tags.filter((tag) => typeof tag !== 'string' && structureTags.has(tag.tag)),
  plainTag,
];

const options = {
  version: '1.1',
  logLevel: 'error',
  // Their text would quote the document, at a cost for each.
  prettyErrors: false,
  uniqueKeys: false,
  stringKeys: true,
  customTags: onlyOurs,
} as const;
