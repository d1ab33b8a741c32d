import { isObject, type JsonObject } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { warningOf } from '../server/warning.ts';
import type { EndpointRequest, EndpointServices } from './endpoint.ts';
import { mediaTypeOf, objectLimit, parseBody, readBody } from './request-body.ts';

/** What a client sent, or the answer to what cannot be used. */
export type SentObject =
  | {
      readonly object: JsonObject;
      /** For the client. */
      readonly warnings: readonly string[];
    }
  | { readonly refusal: ErrorAnswer };

export interface ObjectForm {
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
  const holding = held.hold(user);
  request.onOver(() => holding.release());
  const body = await readBody(request, objectLimit, (bytes) => holding.take(bytes));
  if (!Buffer.isBuffer(body)) return { refusal: body };
  if (!mediaTypes.has(type)) return { refusal: unknownType };
  const isEmpty = body.toString('utf8').trim() === '';
  const parsed = isEmpty ? { value: {} } : await parseBody(body, type, { yaml, user });
  if ('refusal' in parsed) return parsed;
  const { searchParams } = new URL(request.asked.forward, 'http://localhost');
  return checkForm(parsed.value ?? {}, form, searchParams.get('fieldValidation'));
}

/**
 * An unknown field is an error unless the client says otherwise: `scopes` in place of `scope` would make a key that may do everything. The
 * API server only warns by default, and what is no kubectl shows no warning.
 */
export function strictUnlessAsked(query: URLSearchParams): URLSearchParams {
  if (!query.get('fieldValidation')) query.set('fieldValidation', 'Strict');
  return query;
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

const unknownType = errorAnswer('ERR_BODY_TYPE', {});

/** As the API server sends warnings. */
export const warningHeaders = (texts: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  texts.length === 0 ? {} : { warning: texts.map(warningOf) };
