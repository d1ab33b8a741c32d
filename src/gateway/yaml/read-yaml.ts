import { type Document, isCollection, isScalar, parseDocument, type Tags, visit, type YAMLMap } from 'yaml';
import { hasInexactNumber, maxLevels } from '../../api/json.ts';

/** What a text holds, as JSON, or why it is not read. No problem quotes the text, which may hold a key. */
export type YAMLReading = { readonly json: string } | { readonly problem: string };

/**
 * YAML 1.1 as the API server reads it, one document. Keys that are collections are refused: the reader writes each of them out again at
 * every level, and 800 bytes of them take it a minute.
 */
export function readYAML(text: string): YAMLReading {
  try {
    return { json: toJSON(text) };
  } catch (error) {
    return { problem: error instanceof YAMLProblem ? error.message : noYAML };
  }
}

class YAMLProblem extends Error {}

const noYAML = 'it is no YAML';

export const keyTwice = 'a key stands twice in it';
export const inexactNumber =
  'it has a number that is infinite, or whole and beyond 2^53: only roughly would it go on';
export const tooDeep = `it nests deeper than ${maxLevels} levels`;

function toJSON(text: string): string {
  const document = parseDocument(text, options);
  const [error] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS') throw new YAMLProblem('it holds more than one document');
  if (error !== undefined) throw new YAMLProblem(noYAML);
  checkNodes(document);
  const value: unknown = document.toJS({ maxAliasCount: maxAliases });
  if (hasInexactNumber(value)) throw new YAMLProblem(inexactNumber);
  // Keys that are numbers become texts.
  const json = JSON.stringify(value ?? null);
  if (json.length > maxLength) throw new YAMLProblem(tooLong);
  return json;
}

const maxAliases = 100;

/** Of what is read, as of what is sent: characters. */
const maxLength = 2 ** 20;
const tooLong = `it is longer than ${maxLength} characters as JSON`;

/**
 * Before values are made of them. Aliases of what holds aliases grow without bounds, and to count them the reader goes through the whole
 * document for each.
 */
function checkNodes(document: Document): void {
  const sizes = new Map<string, number>();
  let aliases = 0;
  let copied = 0;
  const note = (anchor: string | undefined, range: readonly number[] | null | undefined) =>
    anchor !== undefined && sizes.set(anchor, range ? (range[1] ?? 0) - (range[0] ?? 0) : maxLength);
  visit(document, {
    Scalar: (_, { anchor, range }) => void note(anchor, range),
    Map: (_, map, above) => {
      note(map.anchor, map.range);
      checkDepth(above);
      checkKeys(map);
    },
    Seq: (_, { anchor, range }, above) => {
      note(anchor, range);
      checkDepth(above);
    },
    Alias: (_, { source }, above) => {
      aliases += 1;
      copied += sizes.get(source) ?? 0;
      if (aliases > maxAliases) throw new YAMLProblem(`it holds more than ${maxAliases} aliases`);
      if (copied > maxLength) throw new YAMLProblem(tooLong);
      if (above.some((node) => isCollection(node) && node.anchor !== undefined))
        throw new YAMLProblem('an alias stands in what has an anchor');
    },
  });
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
}

/** Without dates and the like, which JSON does not have: they stay texts. */
const plainTags = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || !/:(?:binary|omap|pairs|set|timestamp)$/.test(tag.tag));

const options = {
  version: '1.1',
  logLevel: 'error',
  // Their text would quote the document, at a cost for each.
  prettyErrors: false,
  uniqueKeys: false,
  stringKeys: true,
  customTags: plainTags,
} as const;
