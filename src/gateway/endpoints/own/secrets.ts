import { asObject, asText, isObject, type JsonObject } from '../../../api/json.ts';
import { loginFields } from '../../../api/names.ts';
import { parseSpecKey } from '../../../credentials/keys/spec-key.ts';
import { hasRepeatedKey } from '../../../kube/client/json-bounds.ts';

/** The text in place of a credential. */
const redacted = 'redacted-by-latchkey';

export const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
export const kappOriginal = 'kapp.k14s.io/original';

/** Annotations in which a tool that applies manifests keeps the whole of them. */
export const manifestAnnotations: readonly string[] = [lastApplied, kappOriginal];

/**
 * The only way out for a body about our kinds: an object, a list, a Table, an event of a watch or a Status, without any
 * credential. `known`: plain credentials that went into the request, which a refusal could quote.
 */
export function withoutCredentials(body: unknown, known: readonly string[] = []): JsonObject {
  const secrets = known.filter((secret) => secret.length >= minSecretLength).flatMap(quotedForms);
  return clean(asObject(body), (text) => withoutKnown(text, secrets));
}

/** Shorter texts are no credentials of ours, and would be found in the middle of any word. */
const minSecretLength = 8;

/** As it is, and as Go quotes it in texts and in JSON: what a provider of single sign-on gave may hold any character. */
function quotedForms(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const escaped = json.replace(
    /[<>&\u2028\u2029]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [...new Set([secret, json, escaped])];
}

type CleanText = (text: string) => string;

function clean(body: JsonObject, cleanText: CleanText): JsonObject {
  const kind = String(body['kind']);
  // Messages quote what was rejected.
  if (kind === 'Status') return asObject(cleanTexts(body, cleanText));
  if (kind === 'Table') return cleanTable(body, cleanText);
  if (Array.isArray(body['items']))
    return { ...body, items: body['items'].map((item) => clean(asObject(item), cleanText)) };
  if (isEvent(body)) return { ...body, object: clean(asObject(body['object']), cleanText) };
  return cleanObject(body);
}

const isEvent = (body: JsonObject): boolean => body['kind'] === undefined && isObject(body['object']);

function cleanTable(table: JsonObject, cleanText: CleanText): JsonObject {
  const rows = Array.isArray(table['rows']) ? table['rows'] : [];
  return { ...table, rows: rows.map((row) => cleanRow(asObject(row), cleanText)) };
}

function cleanRow(row: JsonObject, cleanText: CleanText): JsonObject {
  const object = isObject(row['object']) ? { object: cleanObject(row['object']) } : {};
  return { ...row, cells: cleanTexts(row['cells'], cleanText), ...object };
}

/** Of one of our kinds, whole or its metadata alone; other objects hold none of these fields. */
function cleanObject(object: JsonObject): JsonObject {
  const { metadata, spec, status } = object;
  return {
    ...object,
    ...(isObject(metadata) ? { metadata: cleanMetadata(metadata) } : {}),
    ...(isObject(spec) ? { spec: cleanSpec(spec) } : {}),
    ...(isObject(status) ? { status: without(status, ['token', 'kubeConfig']) } : {}),
  };
}

/** A key reads as its hash, which says the same as the key and opens nothing. */
function cleanSpec(spec: JsonObject): JsonObject {
  const { identity, oidcLogin } = spec;
  const key = hashForm(spec['key']);
  return {
    // A key keeps its place: kubectl compares manifests byte by byte.
    ...(key === undefined ? without(spec, ['key']) : { ...spec, key }),
    ...(isObject(identity) ? { identity: without(identity, loginFields.identity) } : {}),
    ...(isObject(oidcLogin) ? { oidcLogin: without(oidcLogin, loginFields.oidcLogin) } : {}),
  };
}

/** Undefined for what is no key at all. */
function hashForm(key: unknown): string | undefined {
  if (typeof key !== 'string') return undefined;
  if (key === '' || key === redacted) return key;
  return `sha256:${parseSpecKey(key)?.hash}`;
}

function cleanMetadata(metadata: JsonObject): JsonObject {
  const annotations = asObject(metadata['annotations']);
  const present = manifestAnnotations.filter((name) => annotations[name] !== undefined);
  if (present.length === 0) return metadata;
  const cleaned = Object.fromEntries(present.map((name) => [name, cleanManifest(annotations[name])]));
  return { ...metadata, annotations: { ...annotations, ...cleaned } };
}

/** The manifest that kubectl or kapp wrote down. One that cannot be read cannot be cleaned, and they write a new one. */
export function cleanManifest(text: unknown): string {
  try {
    const manifest: unknown = JSON.parse(String(text));
    if (!isObject(manifest)) return '{}';
    const cleaned = JSON.stringify(cleanObject(withoutManifest(manifest)));
    // As long as nothing was taken away it stays byte by byte what kubectl wrote.
    return cleaned === JSON.stringify(manifest) && !hasRepeatedKey(String(text))
      ? String(text)
      : `${cleaned}\n`;
  } catch {
    return '{}';
  }
}

/** A manifest holds no other one; one could be nested in the next without an end. */
function withoutManifest(manifest: JsonObject): JsonObject {
  const metadata = asObject(manifest['metadata']);
  const annotations = asObject(metadata['annotations']);
  if (manifestAnnotations.every((name) => annotations[name] === undefined)) return manifest;
  return { ...manifest, metadata: { ...metadata, annotations: without(annotations, manifestAnnotations) } };
}

export const without = (object: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

/** All texts of a value, at any depth but in objects that it is about. */
function cleanTexts(value: unknown, cleanText: CleanText): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map((item) => cleanTexts(item, cleanText));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cleanTexts(item, cleanText)]));
}

const withoutKnown = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((rest, secret) => rest.replaceAll(secret, redacted), withoutShapes(text));

/** Access keys and tokens of ours have a form that no name has. Texts can be long, so no expression begins again in the middle of a word. */
const withoutShapes = (text: string): string =>
  text.replace(/lk_[0-9A-Za-z]{20,}/g, redacted).replace(/(?<![\w.-])[\w.-]+/g, withoutTokens);

/** `word`: all between two characters that no token has. */
function withoutTokens(word: string): string {
  const parts = word.split('.');
  const first = parts.findIndex(
    (part, index) => /eyJ[\w-]{8}/.test(part) && (parts[index + 1] ?? '').length >= 8,
  );
  return first === -1 ? word : [...parts.slice(0, first), redacted].join('.');
}

/**
 * Puts the credentials that the client could not see back into its change, as they are stored. A key that is left out means
 * the stored one, or every replace would end it; so does its hash, which is what reads show.
 */
export function withStoredSecrets(changed: JsonObject, stored: JsonObject): JsonObject {
  const [spec, storedSpec] = [asObject(changed['spec']), asObject(stored['spec'])];
  const { identity, oidcLogin } = spec;
  return {
    ...changed,
    metadata: withStoredManifest(asObject(changed['metadata']), asObject(stored['metadata'])),
    ...(isObject(changed['spec']) ? { spec: { ...spec, ...storedKey(spec, storedSpec) } } : {}),
    ...(isObject(identity) || isObject(oidcLogin)
      ? { spec: { ...spec, ...storedKey(spec, storedSpec), ...storedLogin(spec, storedSpec) } }
      : {}),
  };
}

function storedKey(spec: JsonObject, stored: JsonObject): JsonObject {
  const [key, storedKeyOf] = [parseSpecKey(spec['key']), parseSpecKey(stored['key'])];
  // To ask for a Secret is to ask for another key.
  const isMoved = isObject(spec['secretRef']) && !isObject(stored['secretRef']);
  if (storedKeyOf === undefined || (key === undefined && isMoved)) return {};
  return key === undefined || key.hash === storedKeyOf.hash ? { key: stored['key'] } : {};
}

/** Between two writes of the operator they may still stand there. */
function storedLogin(spec: JsonObject, stored: JsonObject): JsonObject {
  const keep = (part: string, fields: readonly string[]) => {
    if (!isObject(spec[part])) return {};
    const kept = Object.entries(asObject(stored[part])).filter(([field]) => fields.includes(field));
    return { [part]: { ...Object.fromEntries(kept), ...spec[part] } };
  };
  return { ...keep('identity', loginFields.identity), ...keep('oidcLogin', loginFields.oidcLogin) };
}

function withStoredManifest(metadata: JsonObject, stored: JsonObject): JsonObject {
  const [shown, kept] = [asObject(metadata['annotations']), asObject(stored['annotations'])];
  const unchanged = manifestAnnotations.filter(
    (name) =>
      shown[name] !== undefined && kept[name] !== undefined && shown[name] === cleanManifest(kept[name]),
  );
  if (unchanged.length === 0) return metadata;
  const manifests = Object.fromEntries(unchanged.map((name) => [name, kept[name]]));
  return { ...metadata, annotations: { ...shown, ...manifests } };
}

/** The plain credentials in an object: what an answer about it could quote. */
export function secretsIn(object: JsonObject): readonly string[] {
  const [spec, status] = [asObject(object['spec']), asObject(object['status'])];
  const values = [
    parseSpecKey(spec['key'])?.form === 'Plain' ? spec['key'] : undefined,
    ...Object.entries(loginFields).flatMap(([part, fields]) => {
      const login = asObject(spec[part]);
      return fields.map((field) => login[field]);
    }),
    status['token'],
    status['kubeConfig'],
  ];
  return values.map(asText).filter((value) => value !== undefined);
}
