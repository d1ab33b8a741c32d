import type { JsonObject } from '../../api/json.ts';

/**
 * The spec of a SelfSubjectAccessReview in `application/vnd.kubernetes.protobuf`, as kubectl sends it; in JSON. Undefined for
 * whatever is not exactly that: a second copy of a field or an unknown one could mean something else to the API server.
 */
export function decodeAccessReview(bytes: Uint8Array): JsonObject | undefined {
  if (magic.some((byte, index) => bytes[index] !== byte)) return undefined;
  try {
    const envelope = readMessage(bytes.subarray(magic.length), [
      'typeMeta',
      'raw',
      'contentEncoding',
      'contentType',
    ]);
    const type = readMessage(envelope.get('typeMeta') ?? empty, ['apiVersion', 'kind']);
    if (textOf(type, 'apiVersion') !== 'authorization.k8s.io/v1') return undefined;
    if (textOf(type, 'kind') !== 'SelfSubjectAccessReview') return undefined;
    if (textOf(envelope, 'contentEncoding') !== '') return undefined;
    const review = readMessage(envelope.get('raw') ?? empty, ['metadata', 'spec', 'status']);
    return readSpec(review.get('spec') ?? empty);
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
}

const magic = [...Buffer.from('k8s\0')];
const empty = new Uint8Array();

const resourceFields = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'];

function readSpec(bytes: Uint8Array): JsonObject {
  const spec = readMessage(bytes, ['resourceAttributes', 'nonResourceAttributes']);
  const resource = spec.get('resourceAttributes');
  const url = spec.get('nonResourceAttributes');
  return {
    ...(resource && {
      resourceAttributes: texts(
        readMessage(resource, [...resourceFields, 'fieldSelector', 'labelSelector']),
        resourceFields,
      ),
    }),
    ...(url && { nonResourceAttributes: texts(readMessage(url, ['path', 'verb']), ['path', 'verb']) }),
  };
}

type Message = ReadonlyMap<string, Uint8Array>;

const texts = (message: Message, fields: readonly string[]): JsonObject =>
  Object.fromEntries(fields.map((field) => [field, textOf(message, field)]));

// A byte order mark is a character of the text to the API server.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws TypeError for bytes that are no UTF-8. */
const textOf = (message: Message, field: string): string => decoder.decode(message.get(field) ?? empty);

/** The fields of a message whose fields are all bytes, numbered from one. @throws RangeError when it is no such message. */
function readMessage(bytes: Uint8Array, fields: readonly string[]): Message {
  const message = new Map<string, Uint8Array>();
  for (let at = 0; at < bytes.length; ) {
    const tag = readNumber(bytes, at);
    const length = readNumber(bytes, tag.end);
    const field = fields[(tag.value >>> 3) - 1];
    const end = length.end + length.value;
    const known = field !== undefined && (tag.value & 7) === lengthDelimited && !message.has(field);
    if (!known || end > bytes.length) throw new RangeError('this is no message of that kind');
    message.set(field, bytes.subarray(length.end, end));
    at = end;
  }
  return message;
}

const lengthDelimited = 2;

/** Up to four bytes of seven bits each: more is longer than any review. */
function readNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let index = 0; index < 4; index++) {
    const byte = bytes[start + index];
    if (byte === undefined) break;
    value |= (byte & 127) << (7 * index);
    if (byte < 128) return { value, end: start + index + 1 };
  }
  throw new RangeError('this is no number');
}
