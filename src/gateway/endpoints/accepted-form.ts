import { asObject, isObject, type JsonObject } from '../../api/json.ts';

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
