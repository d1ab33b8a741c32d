import { asObject, asText, asTexts, isObject, type JsonObject, parseJSON } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import type { RawResponse } from '../../../kube/client/response-collector.ts';
import { forward } from '../../proxy/forward.ts';
import { withoutHeaders } from '../../proxy/request-headers.ts';
import { leaveRest } from '../../server/error-answer.ts';
import { ask } from '../shared/ask.ts';
import type { Endpoint, EndpointRequest } from '../shared/endpoint.ts';
import { answerFailure } from '../shared/reply.ts';
import { addToGroups, addToOpenAPI, addToOpenAPIIndex, addToResourceList, deriveHash } from './additions.ts';

type Add = (document: JsonObject) => JsonObject;
type Encode = (document: JsonObject) => Buffer;

/** Of what the API server tells about itself, the parts that are not whole without what the gateway answers. */
export const discoveryEndpoints = (): Readonly<Record<string, Endpoint>> => ({
  'get /apis': new AddedDocument(addToGroups).answer,
  [`get /apis/${apiVersion}`]: new AddedDocument(addToResourceList, encodeResourceList).answer,
  'get /openapi/v3': new AddedDocument(addToOpenAPIIndex).answer,
  [`get /openapi/v3/apis/${apiVersion}`]: new AddedDocument(addToOpenAPI).answer,
});

/** A document with our additions. */
interface Added {
  /** The forms that were asked for: one tag of the API server may stand for several. */
  readonly accept: string;
  readonly upstreamTag: string;
  /** Empty where the API server gives none. */
  readonly tag: string;
  readonly headers: RawResponse['headers'];
  readonly text: string;
}

/** The forms that clients ask for, and room for what a change of a CRD leaves behind. */
const maxKept = 4;
/** About the form of the answer, which has to be JSON for us, and about what the client has of it. */
const replacedHeaders: ReadonlySet<string> = new Set(['accept', 'accept-encoding', 'if-none-match']);

/** One document of the API server. What was added to it is kept for as long as the API server says that it has not changed. */
class AddedDocument {
  readonly #add: Add;
  /** For clients that take no JSON. */
  readonly #encode: Encode | undefined;
  /** The latest last. */
  readonly #kept: Added[] = [];

  constructor(add: Add, encode?: Encode) {
    this.#add = add;
    this.#encode = encode;
  }

  readonly answer: Endpoint = async (request) => {
    const { accept: wanted } = request.request.headers;
    const encode = acceptsProtobuf(wanted ?? '') ? this.#encode : undefined;
    const accept = acceptedJSON(wanted) ?? (encode && 'application/json');
    // Other binary forms are passed on as they are: clients that know them take JSON as well.
    if (accept === undefined) return forward(request);
    try {
      const { document, answer } = await this.#read(request, accept);
      leaveRest(request.response);
      if (document === undefined) sendAsItIs(request, answer);
      else if (encode !== undefined && acceptedJSON(wanted) === undefined)
        sendEncoded(request, encode, document);
      else send(request, document);
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };

  /** No document: the answer is a refusal. */
  async #read(request: EndpointRequest, accept: string) {
    const known = this.#kept.findLast((each) => each.accept === accept);
    const headers = [
      ...withoutHeaders(request.send.headers, (name) => replacedHeaders.has(name)),
      ...['accept', accept],
      ...(known === undefined ? [] : ['if-none-match', known.upstreamTag]),
    ];
    const answer = await ask(request, { method: 'GET', path: pathOf(request), headers });
    if (answer.status === 304 && known !== undefined) return { document: known, answer };
    const parsed = answer.status === 200 ? parseJSON(answer.body) : undefined;
    return { document: isObject(parsed) ? this.#keep(parsed, accept, answer) : undefined, answer };
  }

  #keep(document: JsonObject, accept: string, { headers }: RawResponse): Added {
    const { etag: upstreamTag = '' } = headers;
    const tag = upstreamTag === '' ? '' : `"${deriveHash(upstreamTag.replaceAll('"', ''))}"`;
    const added = { accept, upstreamTag, tag, headers, text: JSON.stringify(this.#add(document)) };
    if (tag !== '') this.#kept.push(added);
    if (this.#kept.length > maxKept) this.#kept.shift();
    return added;
  }
}

/** An address with a hash of ours means nothing to the API server. */
function pathOf({ send }: EndpointRequest): string {
  const { pathname, searchParams } = new URL(send.path, 'http://localhost');
  searchParams.delete('hash');
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
}

/** The forms of JSON that the client takes; undefined for a client that takes none. */
function acceptedJSON(accept = ''): string | undefined {
  if (accept.trim() === '') return 'application/json';
  const forms = accept
    .split(',')
    .map((form) => form.trim())
    .filter((form) => /^(?:application\/json|application\/\*|\*\/\*)(?:;|$)/i.test(form));
  return forms.length === 0 ? undefined : forms.join(',');
}

function send(request: EndpointRequest, { tag, headers, text }: Added): void {
  const { response } = request;
  const { 'content-type': type = 'application/json' } = headers;
  const own = {
    vary: 'Accept',
    'cache-control': cachingOf(request, tag),
    ...(tag === '' ? {} : { etag: tag }),
  };
  if (tag !== '' && tagsIn(request.request.headers['if-none-match']).includes(tag)) {
    response.writeHead(304, own).end();
    return;
  }
  response
    .writeHead(200, { ...own, 'content-type': type, 'content-length': Buffer.byteLength(text) })
    .end(text);
}

function sendEncoded({ response }: EndpointRequest, encode: Encode, { text }: Added): void {
  const body = encode(asObject(JSON.parse(text)));
  const headers = { vary: 'Accept', 'cache-control': 'no-cache, private', 'content-type': protobufType };
  response.writeHead(200, { ...headers, 'content-length': body.length }).end(body);
}

/** An address with the hash of the document stands for this text for ever. */
function cachingOf({ send: { path } }: EndpointRequest, tag: string): string {
  const hash = new URL(path, 'http://localhost').searchParams.get('hash');
  return hash !== null && `"${hash}"` === tag ? 'private, immutable, max-age=31536000' : 'no-cache, private';
}

const tagsIn = (header: string | undefined): readonly string[] =>
  header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];

/** Passes on the API server's answer in place of the document. */
function sendAsItIs({ response }: EndpointRequest, { status, headers, body }: RawResponse): void {
  const { 'content-type': type = 'application/json', 'retry-after': retryAfter } = headers;
  const retry = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  const length = Buffer.byteLength(body);
  response.writeHead(status, { ...retry, 'content-type': type, 'content-length': length }).end(body);
}

/** Of a client that takes no JSON. */
const acceptsProtobuf = (accept: string): boolean =>
  /(?:^|,)\s*application\/vnd\.kubernetes\.protobuf\s*(?:[;,]|$)/i.test(accept) && !/;\s*as=/i.test(accept);

const protobufType = 'application/vnd.kubernetes.protobuf';

/** An `APIResourceList` as the API server writes it in protobuf. */
export function encodeResourceList(list: JsonObject): Buffer {
  const resources = Array.isArray(list['resources']) ? list['resources'].filter(isObject) : [];
  const raw = [text(1, list['groupVersion']), ...resources.map((each) => message(2, encodeResource(each)))];
  const type = [text(1, 'v1'), text(2, 'APIResourceList')];
  // The wrapper of the API server for every object; the last two say that nothing is compressed.
  const unknown = [message(1, type), message(2, raw), bytes(3, Buffer.alloc(0)), bytes(4, Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('k8s\0'), ...unknown]);
}

function encodeResource(resource: JsonObject): readonly Buffer[] {
  return [
    text(1, resource['name']),
    Buffer.from([0x10, resource['namespaced'] === true ? 1 : 0]),
    text(3, resource['kind']),
    message(4, texts(1, resource['verbs'])),
    ...texts(5, resource['shortNames']),
    text(6, resource['singularName']),
    ...texts(7, resource['categories']),
    text(8, resource['group']),
    text(9, resource['version']),
    text(10, resource['storageVersionHash']),
  ];
}

const text = (field: number, value: unknown): Buffer => bytes(field, Buffer.from(asText(value) ?? ''));
const texts = (field: number, values: unknown): readonly Buffer[] =>
  asTexts(values).map((value) => text(field, value));
const message = (field: number, parts: readonly Buffer[]): Buffer => bytes(field, Buffer.concat(parts));

/** A field with its length in front. */
const bytes = (field: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(content.length)]), content]);

function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
}
