import { asText, asTexts, isObject, type JsonObject } from '../../api/json.ts';

/** Of a client that takes no JSON. */
export const acceptsProtobuf = (accept: string): boolean =>
  /(?:^|,)\s*application\/vnd\.kubernetes\.protobuf\s*(?:[;,]|$)/i.test(accept) && !/;\s*as=/i.test(accept);

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** An `APIResourceList` as the API server writes it in protobuf. */
export function encodeResourceList(list: JsonObject): Buffer {
  const resources = Array.isArray(list['resources']) ? list['resources'].filter(isObject) : [];
  const raw = [text(1, list['groupVersion']), ...resources.map((each) => message(2, encodeResource(each)))];
  const type = [text(1, 'v1'), text(2, 'APIResourceList')];
  // What the API server wraps every object in; the last two say that nothing is compressed.
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
