import { asObject, asText, isObject, type JsonObject } from '../../api/json.ts';
import { loginFields } from '../../api/names.ts';
import { parseSpecKey } from '../../credentials/keys/spec-key.ts';
import { cleanManifest, manifestAnnotations } from './redaction.ts';

/**
 * What a client changed, with the credentials that it could not see: they stay as they are stored. A key that is left out means
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
