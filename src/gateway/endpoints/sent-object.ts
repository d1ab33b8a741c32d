import { credentialKinds } from '../../api/credential-kinds.ts';
import { asObject, isObject, type JsonObject } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { accessKeyBytes, generateAccessKey } from '../../credentials/keys/access-key.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import { parseSpecKey } from '../../credentials/keys/spec-key.ts';
import type { Verdict } from '../index/verdict.ts';
import { type OwnRequest, resourceOf } from './own-request.ts';
import { refuse } from './refusal.ts';

type Place = Pick<OwnRequest, 'kind' | 'asked'>;

/**
 * The object that a client sent, with what the path says of it, and without a status, which only the operator writes. Throws a Refusal
 * where it says something else than the path.
 */
export function fitToPath(place: Place, sent: JsonObject): JsonObject {
  const { kind, asked } = place;
  const problem = formProblem(sent) ?? pathProblem(place, sent);
  if (problem !== undefined) return refuse('ERR_OBJECT_MISMATCH', { problem });
  const metadata = asObject(sent['metadata']);
  const { namespace: _, ...rest } = metadata;
  const { status: __, ...whole } = sent;
  const { namespaced } = resourceOf(place);
  return {
    ...whole,
    kind,
    apiVersion,
    metadata: {
      ...rest,
      ...(namespaced ? { namespace: asked.namespace } : {}),
      ...(asked.name === '' ? nameFor(place, rest) : { name: asked.name }),
    },
    spec: sent['spec'] ?? {},
  };
}

/**
 * A text in place of `spec` would become a key without scope and end. Nor is anything left out of what the gateway adds to: the
 * client would think that it was taken.
 */
function formProblem(sent: JsonObject): string | undefined {
  const part = ['metadata', 'spec'].find((each) => !isObject(sent[each] ?? {}));
  if (part !== undefined) return `its ${part} is not an object`;
  const metadata = asObject(sent['metadata']);
  const map = ['labels', 'annotations'].find((each) => !isObject(metadata[each] ?? {}));
  if (map !== undefined) return `its metadata.${map} is not a map`;
  const finalizers = metadata['finalizers'] ?? [];
  const areTexts = Array.isArray(finalizers) && finalizers.every((each) => typeof each === 'string');
  return areTexts ? undefined : 'its metadata.finalizers is not a list of texts';
}

function pathProblem({ kind, asked }: Place, sent: JsonObject): string | undefined {
  const { name, namespace } = asObject(sent['metadata']);
  if (!isLeftOut(sent['kind']) && sent['kind'] !== kind) return `its kind is not ${kind}`;
  if (!isLeftOut(sent['apiVersion']) && sent['apiVersion'] !== apiVersion)
    return `its apiVersion is not ${apiVersion}`;
  if (!isLeftOut(namespace) && namespace !== asked.namespace)
    return 'its metadata.namespace is not that of the path';
  if (asked.name !== '' && !isLeftOut(name) && name !== asked.name)
    return 'its metadata.name is not that of the path';
  return undefined;
}

export const isLeftOut = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Clients may leave the name to us altogether. */
function nameFor({ kind }: Place, { name, generateName }: JsonObject): JsonObject {
  const isNamed = !isLeftOut(name) || !isLeftOut(generateName);
  return isNamed ? {} : { generateName: `${credentialKinds[kind].noun}-` };
}

/** With the parent that a limited credential gives to all that it makes, so that they end with it and stay within its scope. */
export function belowMaker(
  object: JsonObject,
  { record, isLimited }: Pick<Verdict, 'record' | 'isLimited'>,
): JsonObject {
  if (!isLimited) return object;
  const spec = asObject(object['spec']);
  const accessKey = isLeftOut(spec['accessKey']) ? record.name : spec['accessKey'];
  if (accessKey !== record.name) return refuse('ERR_PARENT', {});
  return { ...object, spec: { ...spec, accessKey } };
}

export interface SentKey {
  readonly object: JsonObject;
  /** The key itself, where it is known here. */
  readonly plain?: string;
}

/** With the hash of its key in place of the key: the API server never sees a plain one. */
export function withHashedKey(object: JsonObject): SentKey {
  const spec = asObject(object['spec']);
  const key = parseSpecKey(spec['key']);
  if (key === undefined || key.form === 'Hash') return { object };
  if (!key.wellFormed) return refuse('ERR_KEY_MALFORMED', {});
  return { object: { ...object, spec: { ...spec, key: `sha256:${key.hash}` } }, plain: String(spec['key']) };
}

/** The same for a new object, with a new key where it has none and asks for no Secret. */
export function withNewKey(object: JsonObject, random: (bytes: number) => Uint8Array): SentKey {
  const spec = asObject(object['spec']);
  if (parseSpecKey(spec['key']) !== undefined || !isLeftOut(spec['secretRef'])) return withHashedKey(object);
  const plain = generateAccessKey(random(accessKeyBytes));
  return { object: { ...object, spec: { ...spec, key: `sha256:${credentialHash(plain)}` } }, plain };
}
