import { CST, isMap, isScalar, isSeq, Lexer, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { KubeConfigRefusal } from './refusals.ts';

/** The content of a document of plain values. Maps are `Map`s, so that no field name means anything to JavaScript. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainMap;
export type PlainMap = ReadonlyMap<string, Plain>;

/** A kubeconfig has about a hundred. It bounds the time and the depth of the parser, which calls itself for each level. */
const maxTokens = 2_000;
/** Of maps and lists in each other: those of vendors go deeper than what a kubeconfig needs, and are refused by the name of their field. */
const maxDepth = 16;

/** Reads one document of YAML 1.2 or JSON without anchors, aliases, tags, merge keys and directives; throws a KubeConfigRefusal. */
export function readPlainYAML(text: string): Plain {
  silenceParser();
  checkTokens(text);
  const document = parseDocument(text, {
    schema: 'core',
    merge: false,
    resolveKnownTags: false,
    // It compares each key with each other one; toPlainMap() finds duplicates at once.
    uniqueKeys: false,
    prettyErrors: false,
  });
  if (document.errors.some(({ code }) => code === 'MULTIPLE_DOCS')) throw new KubeConfigRefusal('documents');
  if (document.errors.length > 0 || document.warnings.length > 0) throw new KubeConfigRefusal('syntax');
  return toPlain(document.contents, 1);
}

/** While one of these is set, the parser prints all that it reads, and that is secret. */
function silenceParser(): void {
  delete process.env.LOG_STREAM;
  delete process.env.LOG_TOKENS;
}

/** Before anything is built from them. */
function checkTokens(text: string): void {
  let count = 0;
  let documents = 0;
  for (const token of new Lexer().lex(text)) {
    const type = CST.tokenType(token);
    if (++count > maxTokens) throw new KubeConfigRefusal('tooComplex');
    if (type === 'doc-start' && ++documents > 1) throw new KubeConfigRefusal('documents');
    const refusal = type === null ? undefined : refusedTokens[type];
    if (refusal !== undefined) throw new KubeConfigRefusal(refusal);
  }
}

const refusedTokens: Readonly<
  Partial<Record<CST.TokenType, ConstructorParameters<typeof KubeConfigRefusal>[0]>>
> = {
  'doc-end': 'documents',
  'directive-line': 'directive',
  anchor: 'anchor',
  alias: 'anchor',
  tag: 'tag',
};

function toPlain(node: unknown, depth: number): Plain {
  if (node === null) return null;
  if (depth > maxDepth) throw new KubeConfigRefusal('tooComplex');
  if (isMap(node)) return toPlainMap(node, depth);
  if (isSeq(node)) return node.items.map((item) => toPlain(item, depth + 1));
  if (isScalar(node) && isPlainScalar(node.value)) return node.value;
  throw new KubeConfigRefusal('valueType');
}

function toPlainMap(node: YAMLMap, depth: number): PlainMap {
  const map = new Map<string, Plain>();
  for (const { key, value } of node.items as readonly Pair[]) {
    if (!isScalar(key) || typeof key.value !== 'string') throw new KubeConfigRefusal('fieldName');
    if (key.value === '<<') throw new KubeConfigRefusal('mergeKey');
    if (map.has(key.value)) throw new KubeConfigRefusal('duplicateKey');
    map.set(key.value, toPlain(value, depth + 1));
  }
  return map;
}

function isPlainScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
