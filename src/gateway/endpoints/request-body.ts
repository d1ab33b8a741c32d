import { type Document, isCollection, isScalar, parseDocument, type Tags, visit, type YAMLMap } from 'yaml';
import { isObject, type JsonObject, maxLevels, nestsTooDeep } from '../../api/json.ts';
import { WriteBudget } from '../../kube/queue/write-budget.ts';
import { expectsContinue, smallPiece, smallPieces, tooManyPieces } from '../proxy/forward.ts';
import { StallGuard } from '../proxy/stall-guard.ts';
import { type ErrorAnswer, errorAnswer, hasBody } from '../server/error-answer.ts';
import type { EndpointRequest } from './endpoint.ts';
import type { Holding } from './held-bytes.ts';
import { Refusal, refuse } from './refusal.ts';

type BodySource = Pick<EndpointRequest, 'request' | 'response' | 'clock' | 'maxStallMs'>;

export interface BodyLimit {
  readonly maxBytes: number;
  /** The answer to a larger one. */
  readonly tooLarge: ErrorAnswer;
}

/** A request that counts what it keeps. */
export type HoldingSource = BodySource & { readonly held: Pick<Holding, 'take'> };

/** The body, or the answer to one that does not arrive. */
export async function readBody(
  { request, response, clock, maxStallMs }: BodySource,
  { maxBytes, tooLarge }: BodyLimit,
  mayHold: (bytes: number) => boolean = () => true,
): Promise<Buffer | ErrorAnswer> {
  if (!hasBody(request)) return Buffer.alloc(0);
  if (expectsContinue(request)) response.writeContinue();
  const { promise, resolve } = Promise.withResolvers<Buffer | ErrorAnswer>();
  const guard = new StallGuard(clock, maxStallMs, () => resolve(tooSlow));
  const pieces = new WriteBudget(smallPieces);
  const chunks: Buffer[] = [];
  let size = 0;
  request
    .on('data', (chunk: Buffer) => {
      guard.progress();
      size += chunk.length;
      if (chunk.length < smallPiece && !pieces.tryReserve(clock.monotonic())) resolve(tooManyPieces);
      else if (size > maxBytes) resolve(tooLarge);
      else if (mayHold(chunk.length)) chunks.push(chunk);
      else resolve(tooManyBytes);
    })
    .once('end', () => resolve(Buffer.concat(chunks)))
    .once('close', () => resolve(cutOff));
  const body = await promise;
  guard.stop();
  request.pause();
  return body;
}

/** The body of a request about an object. Throws a Refusal. */
export async function readWholeBody(source: HoldingSource): Promise<Buffer> {
  const encoding = source.request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new Refusal(unknownType);
  const body = await readBody(source, objectLimit, (bytes) => source.held.take(bytes));
  if (!Buffer.isBuffer(body)) throw new Refusal(body);
  return body;
}

/** One object in JSON or YAML; undefined where the request has no body. Throws a Refusal. */
export async function readObject(source: HoldingSource): Promise<JsonObject | undefined> {
  const { headers } = source.request;
  const type = mediaTypeOf(headers['content-type']);
  if (!hasBody(source.request)) return undefined;
  if (!isReadable(type)) throw new Refusal(unknownType);
  const body = await readWholeBody(source);
  return body.length === 0 ? undefined : parseObject(body, type);
}

export const mediaTypeOf = (header = ''): string => (header.split(';', 1)[0] ?? '').trim().toLowerCase();

const isReadable = (type: string): boolean => type === '' || /[/+](?:json|yaml)$/.test(type);

/** Throws a Refusal. */
export function parseObject(body: Buffer, type: string): JsonObject {
  const value = parseValue(body, type);
  return isObject(value) ? value : unreadable('it is not one object');
}

/** Throws a Refusal. */
export function parseValue(body: Buffer, type: string): unknown {
  const parsed = parseBody(body, type);
  return 'problem' in parsed ? unreadable(parsed.problem) : parsed.value;
}

/** A parser's own message quotes what it could not read, which may be a key. */
export function parseBody(
  body: Buffer,
  type: string,
): { readonly value: unknown } | { readonly problem: string } {
  const text = body.toString('utf8');
  try {
    const value = /yaml$/.test(type) ? parseYAML(text) : JSON.parse(text);
    return nestsTooDeep(value) ? { problem: tooDeep } : { value };
  } catch (error) {
    return { problem: error instanceof BodyProblem ? error.message : 'it is not what its Content-Type says' };
  }
}

class BodyProblem extends Error {}

const tooDeep = `it nests deeper than ${maxLevels} levels`;

/** Characters. To read YAML takes a hundred times as long as JSON, and everyone waits for it. */
const maxYAMLLength = 16_384;

/**
 * YAML 1.1 as the API server reads it, one document. Keys that are collections are refused: the reader writes each of them out again at
 * every level, and 800 bytes of them take it a minute.
 */
function parseYAML(text: string): unknown {
  const json = text.trimStart().startsWith('{') ? parseJSONOrNothing(text) : undefined;
  if (json !== undefined) return json;
  if (text.length > maxYAMLLength) throw new BodyProblem(`more than ${maxYAMLLength} characters of YAML`);
  const document = parseDocument(text, yamlOptions);
  const [error] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS') throw new BodyProblem('it holds more than one document');
  if (error !== undefined) throw new BodyProblem('it is no YAML');
  checkNodes(document);
  // Keys that are numbers become texts.
  return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: maxAliases }) ?? null));
}

/** What comes from kubectl is JSON, also under the name of YAML. */
function parseJSONOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const maxAliases = 100;

/**
 * Before values are made of them. Aliases of what holds aliases grow without bounds, and to count them the reader goes through the whole
 * document for each.
 */
function checkNodes(document: Document): void {
  let aliases = 0;
  visit(document, {
    Map: (_, map, above) => {
      checkDepth(above);
      checkKeys(map);
    },
    Seq: (_key, _list, above) => checkDepth(above),
    Alias: (_key, _alias, above) => {
      aliases += 1;
      if (aliases > maxAliases) throw new BodyProblem(`it holds more than ${maxAliases} aliases`);
      if (above.some((node) => isCollection(node) && node.anchor !== undefined))
        throw new BodyProblem('an alias stands in what has an anchor');
    },
  });
}

/** Roughly: a level of a map is two nodes. */
function checkDepth({ length }: readonly unknown[]): void {
  if (length > 2 * maxLevels + 2) throw new BodyProblem(tooDeep);
}

/** The reader would compare each key with all others. Merged maps are written out again at every level. */
function checkKeys({ items }: YAMLMap): void {
  const keys = new Set(items.map(({ key }) => String(isScalar(key) ? key.value : key)));
  if (keys.size < items.length) throw new BodyProblem('a key stands twice in it');
  if (keys.has('<<')) throw new BodyProblem('it merges maps');
}

/** Without dates and the like, which JSON does not have: they stay texts. */
const plainTags = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || !/:(?:binary|omap|pairs|set|timestamp)$/.test(tag.tag));

const yamlOptions = {
  version: '1.1',
  logLevel: 'error',
  uniqueKeys: false,
  stringKeys: true,
  customTags: plainTags,
} as const;

const maxBytes = 2 ** 20;
/** Of the body with one object of ours. */
export const objectLimit: BodyLimit = {
  maxBytes,
  tooLarge: errorAnswer('ERR_BODY_TOO_LARGE', { bytes: maxBytes }),
};

/** Others need the memory, too. */
export const tooManyBytes = errorAnswer(
  'ERR_TOO_MANY_REQUESTS',
  { owner: 'this user' },
  { headers: ['retry-after', '1'] },
);
const tooSlow = errorAnswer('ERR_REQUEST_TIMEOUT', {});
const cutOff = errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'its body is cut off' });
const unknownType = errorAnswer('ERR_BODY_TYPE', {});
const unreadable = (problem: string): never => refuse('ERR_BODY_UNREADABLE', { problem });
