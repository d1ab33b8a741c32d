import { isUtf8 } from 'node:buffer';
import { hasInexactNumber, isObject, type JsonObject, nestsTooDeep, parseJSON } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import { hasRepeatedKey, type JsonBounds, withinJsonBounds } from '../../../kube/client/json-bounds.ts';
import { WriteBudget } from '../../../kube/queue/write-budget.ts';
import {
  expectsContinue,
  smallPiece,
  smallPieces,
  tooManyOfUser,
  tooManyPieces,
} from '../../proxy/forward.ts';
import { type ErrorAnswer, errorAnswer, hasBody } from '../../server/error-answer.ts';
import { warningOf } from '../../server/warning.ts';
import { isLargeBody, smallBody } from '../../turns/large-bodies.ts';
import { StallGuard } from '../../turns/stall-guard.ts';
import { inexactNumber, keyTwice, looksLikeJSON, tooDeep } from '../../yaml/read-yaml.ts';
import type { YAMLReader } from '../../yaml/yaml-reader.ts';
import { type EndpointRequest, type EndpointServices, holdFor } from './endpoint.ts';
import type { Holding } from './held-bytes.ts';
import { Refusal, refuse } from './reply.ts';

type BodySource = Pick<
  EndpointRequest,
  'request' | 'response' | 'clock' | 'maxStallMs' | 'turn' | 'enterLargeBody' | 'onOver'
>;

export interface BodyLimit {
  readonly maxBytes: number;
  /** The answer to a larger one. */
  readonly tooLarge: ErrorAnswer;
  /** For all of it; absent: {@link maxBodyMs}. */
  readonly maxMs?: number;
  /** The answer to one that begins so, at its end. The rest of it is received, so that its connection stays, and not kept. */
  readonly refuseBeginning?: (head: Buffer) => ErrorAnswer | undefined;
}

/** A request that counts what it keeps. */
type HoldingSource = BodySource & { readonly held: Pick<Holding, 'take'> };

/** Who reads YAML, and whose it is: users take turns. */
export interface YAMLSource {
  readonly yaml: Pick<YAMLReader, 'read'>;
  readonly user: string;
  /** Between the parts of the work on a large text. */
  readonly turn: EndpointRequest['turn'];
}

/** From when it is read. One byte now and then would otherwise hold its memory for days. */
const maxBodyMs = 30_000;

/** The body, or the answer to one that does not arrive. */
export async function readBody(
  { request, response, clock, maxStallMs, turn, enterLargeBody, onOver }: BodySource,
  { maxBytes, tooLarge, maxMs = maxBodyMs, refuseBeginning }: BodyLimit,
  hold: (bytes: number) => ErrorAnswer | undefined = () => undefined,
): Promise<Buffer | ErrorAnswer> {
  if (!hasBody(request)) return Buffer.alloc(0);
  if (isLargeBody(request.headers)) {
    const release = await enterLargeBody();
    if (release === undefined) return tooManyBytes;
    onOver(release);
  }
  if (request.destroyed) return cutOff;
  if (expectsContinue(request)) response.writeContinue();
  const { promise, resolve } = Promise.withResolvers<ErrorAnswer | undefined>();
  const guard = new StallGuard(clock, maxStallMs, () => resolve(tooSlow));
  const timer = clock.setTimer(() => resolve(tooSlow), maxMs);
  const pieces = new WriteBudget(smallPieces);
  const kept = new KeptBody(refuseBeginning);
  let size = 0;
  request
    .on('data', (chunk: Buffer) => {
      guard.progress();
      size += chunk.length;
      if (chunk.length < smallPiece && !pieces.tryReserve(clock.monotonic())) resolve(tooManyPieces);
      else if (size > maxBytes) resolve(tooLarge);
      else if (kept.refusal === undefined) {
        const refusal = hold(chunk.length);
        if (refusal === undefined) kept.add(chunk);
        else resolve(refusal);
      }
    })
    .once('end', () => resolve(kept.refusal))
    .once('close', () => resolve(cutOff));
  const refusal = await promise;
  guard.stop();
  timer.cancel();
  request.pause();
  await turn(size);
  return refusal ?? kept.whole();
}

/** The text of a body. To make it takes as long as to parse it, so others come to their turn before that. */
async function textOf(body: Buffer, turn: EndpointRequest['turn']): Promise<string> {
  const text = body.toString('utf8');
  if (body.length > smallBody) await turn();
  return text;
}

/** The part of a body that has come. Of one that is refused by its beginning nothing is kept. */
class KeptBody {
  refusal: ErrorAnswer | undefined;
  readonly #refuseBeginning: BodyLimit['refuseBeginning'];
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(refuseBeginning: BodyLimit['refuseBeginning']) {
    this.#refuseBeginning = refuseBeginning;
  }

  add(chunk: Buffer): void {
    const isHead = this.#size < headBytes;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (!isHead || this.#size < headBytes) return;
    this.refusal = this.#refuseBeginning?.(this.whole());
    if (this.refusal !== undefined) this.#chunks = [];
  }

  whole(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/** The body of a request about an object. Throws a Refusal. */
export async function readWholeBody(source: HoldingSource): Promise<Buffer> {
  const encoding = source.request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new Refusal(unknownType);
  const type = mediaTypeOf(source.request.headers['content-type']);
  const body = await readBody(source, limitOf(type), (bytes) => source.held.take(bytes));
  if (!Buffer.isBuffer(body)) throw new Refusal(body);
  return body;
}

/** One object in JSON or YAML; undefined where the request has no body. Throws a Refusal. */
export async function readObject(source: HoldingSource & OwnSource): Promise<JsonObject | undefined> {
  const { headers } = source.request;
  const type = mediaTypeOf(headers['content-type']);
  if (!hasBody(source.request)) return undefined;
  if (!isReadable(type)) throw new Refusal(unknownType);
  const body = await readWholeBody(source);
  return body.length === 0 ? undefined : await parseObject(body, type, yamlSourceOf(source));
}

type OwnSource = Pick<EndpointRequest, 'sender'> & { readonly services: Pick<EndpointServices, 'yaml'> };

export const yamlSourceOf = ({
  services,
  sender,
  turn,
}: OwnSource & Pick<EndpointRequest, 'turn'>): YAMLSource => ({
  yaml: services.yaml,
  user: sender.verdict.identity.user,
  turn,
});

export const mediaTypeOf = (header = ''): string => (header.split(';', 1)[0] ?? '').trim().toLowerCase();

const isReadable = (type: string): boolean => type === '' || /[/+](?:json|yaml)$/.test(type);

/** Throws a Refusal. */
export async function parseObject(body: Buffer, type: string, source: YAMLSource): Promise<JsonObject> {
  const parsed = await parseBody(body, type, source);
  if ('refusal' in parsed) throw new Refusal(parsed.refusal);
  return isObject(parsed.value) ? parsed.value : unreadable('it is not one object');
}

type ParsedBody = { readonly value: unknown } | { readonly refusal: ErrorAnswer };

/** A parser's own message quotes what it could not read, which may be a key. */
export async function parseBody(body: Buffer, type: string, source: YAMLSource): Promise<ParsedBody> {
  if (!isUtf8(body)) return unreadableBody('it is not UTF-8');
  const isYAML = /yaml$/.test(type);
  const text = await textOf(body, source.turn);
  const read = isYAML && !looksLikeJSON(text) ? noJSON : readJSON(text);
  if (read === noJSON && isYAML) return await parseYAML(text, source);
  if ('problem' in read) return unreadableBody(read.problem);
  return hasRepeatedKey(text) ? unreadableBody(keyTwice) : read;
}

/** Why what was read is not used. */
const valueProblem = (value: unknown): string | undefined => {
  if (nestsTooDeep(value)) return tooDeep;
  return hasInexactNumber(value) ? inexactNumber : undefined;
};

/** Throws a Refusal. */
export async function parsePatch(body: Buffer, turn: EndpointRequest['turn']): Promise<unknown> {
  const read = readJSON(await textOf(body, turn));
  return 'problem' in read ? unreadable(read.problem) : read.value;
}

/** Texts may be long. Many keys take the parser, and all that follows, a hundred times as long. */
const bounds: JsonBounds = { maxLevels: Number.POSITIVE_INFINITY, maxValues: 4_096 };

type JsonReading = { readonly value: unknown } | { readonly problem: string };

const noJSON: JsonReading = { problem: 'it is not what its Content-Type says' };
const tooMany = { problem: `it holds more than ${bounds.maxValues} values` };

/** Reads the JSON of a client. No problem quotes that. */
export function readJSON(text: string): JsonReading {
  if (!withinJsonBounds(text, bounds)) return tooMany;
  const value = parseJSON(text);
  if (value === undefined) return noJSON;
  const problem = valueProblem(value);
  return problem === undefined ? { value } : { problem };
}

async function parseYAML(text: string, { yaml, user }: YAMLSource): Promise<ParsedBody> {
  const reading = await yaml.read(user, text);
  if (reading === undefined) return { refusal: tooManyBytes };
  const read = 'problem' in reading ? reading : readJSON(reading.json);
  return 'problem' in read ? unreadableBody(read.problem) : read;
}

const unreadableBody = (problem: string): ParsedBody => ({
  refusal: errorAnswer('ERR_BODY_UNREADABLE', { problem }),
});

const maxBytes = 2 ** 20;
/** Of the body with one object of ours. */
export const objectLimit: BodyLimit = {
  maxBytes,
  tooLarge: errorAnswer('ERR_BODY_TOO_LARGE', { bytes: maxBytes }),
};

/** Bytes that are looked at while the rest is on its way: a text of all of a large body takes the main thread longer than this. */
const headBytes = 2 ** 16;
const refuseTooMany = (head: Buffer): ErrorAnswer | undefined =>
  withinJsonBounds(head.toString('latin1'), bounds) ? undefined : errorAnswer('ERR_BODY_UNREADABLE', tooMany);

/** YAML counts its values in other ways. */
const limitOf = (type: string): BodyLimit =>
  /yaml$/.test(type) ? objectLimit : { ...objectLimit, refuseBeginning: refuseTooMany };

/** Others need the memory, too. */
export const tooManyBytes = tooManyOfUser;
const tooSlow = errorAnswer('ERR_REQUEST_TIMEOUT', {});
const cutOff = errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'its body is cut off' });
const unknownType = errorAnswer('ERR_BODY_TYPE', {});
const unreadable = (problem: string): never => refuse('ERR_BODY_UNREADABLE', { problem });

/** The object that a client sent, or the answer to one that cannot be used. */
type SentObject =
  | {
      readonly object: JsonObject;
      /** For the client. */
      readonly warnings: readonly string[];
    }
  | { readonly refusal: ErrorAnswer };

interface ObjectForm {
  readonly kind: string;
  /** Fields of `spec`; absent: somebody else looks at them. */
  readonly specFields?: readonly string[];
}

const mediaTypes: ReadonlySet<string> = new Set(['', 'application/json', 'application/yaml']);

/** Reads the object in the body of a request; no body is an empty object. Look whether the client has left meanwhile. */
export async function readSentObject(
  request: EndpointRequest,
  form: ObjectForm,
  { yaml, held }: Pick<EndpointServices, 'yaml' | 'held'>,
): Promise<SentObject> {
  const type = mediaTypeOf(request.request.headers['content-type']);
  const { user } = request.sender.verdict.identity;
  const holding = holdFor(request, held);
  const body = await readBody(request, limitOf(type), (bytes) => holding.take(bytes));
  if (!Buffer.isBuffer(body)) return { refusal: body };
  if (!mediaTypes.has(type)) return { refusal: unknownType };
  const isEmpty = body.length < smallBody && body.toString('utf8').trim() === '';
  const parsed = isEmpty ? { value: {} } : await parseBody(body, type, { yaml, user, turn: request.turn });
  if ('refusal' in parsed) return parsed;
  const { searchParams } = new URL(request.asked.forward, 'http://localhost');
  return checkForm(parsed.value ?? {}, form, searchParams.get('fieldValidation'));
}

/** `kind` may be left out: the path says it. */
export function checkForm(
  object: unknown,
  { kind, specFields }: ObjectForm,
  fieldValidation: string | null,
): SentObject {
  if (!isObject(object)) return mismatch('it is not one object');
  const { metadata, spec } = object;
  if (differs(object['kind'], kind)) return mismatch(`kind must be ${kind}`);
  if (differs(object['apiVersion'], apiVersion)) return mismatch(`apiVersion must be ${apiVersion}`);
  if (!isObject(metadata ?? {})) return mismatch('metadata must be an object');
  if (!isObject(spec ?? {})) return mismatch('spec must be an object');
  const unknown = [
    ...unknownFields(object, topFields, ''),
    ...(specFields === undefined ? [] : unknownFields(spec ?? {}, specFields, 'spec.')),
  ];
  if (unknown.length === 0 || fieldValidation === 'Ignore') return { object, warnings: [] };
  if (fieldValidation === 'Warn') return { object, warnings: unknown };
  // As the API server says it.
  return mismatch(`strict decoding error: ${unknown.join(', ')}`);
}

/** Clients also leave a field out by sending it empty. */
const differs = (sent: unknown, expected: string): boolean =>
  sent !== undefined && sent !== null && sent !== '' && sent !== expected;

const topFields: readonly string[] = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];

const unknownFields = (object: object, known: readonly string[], path: string): readonly string[] =>
  Object.keys(object)
    .filter((field) => !known.includes(field))
    .map((field) => `unknown field ${JSON.stringify(path + field)}`);

const mismatch = (problem: string): SentObject => ({
  refusal: errorAnswer('ERR_OBJECT_MISMATCH', { problem }),
});

/** As the API server sends warnings. */
export const warningHeaders = (texts: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  texts.length === 0 ? {} : { warning: texts.map(warningOf) };
