import { isDeepStrictEqual } from 'node:util';
import { credentialKinds } from '../../../api/credential-kinds.ts';
import { asObject, asTexts, isObject, isSet, type JsonObject, parseJSON } from '../../../api/json.ts';
import { apiVersion, finalizers, groups, labels, annotations as names } from '../../../api/names.ts';
import { isCleanName, isReserved, maxGroups } from '../../../credentials/identity.ts';
import { accessKeyBytes, generateAccessKey } from '../../../credentials/keys/access-key.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { parseSpecKey } from '../../../credentials/keys/spec-key.ts';
import type { CredentialKind } from '../../../credentials/record.ts';
import type { Verdict } from '../../index/verdict.ts';
import { refuse } from '../shared/reply.ts';
import { type OwnRequest, resourceOf } from './request.ts';
import { manifestAnnotations, without } from './secrets.ts';

type AskedObject = Pick<OwnRequest, 'kind' | 'asked'>;

/**
 * The object that a client sent, with what the path says of it, and without a status, which only the operator writes. Throws a Refusal
 * where it says something else than the path.
 */
export function fitToPath(place: AskedObject, sent: JsonObject): JsonObject {
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

function pathProblem({ kind, asked }: AskedObject, sent: JsonObject): string | undefined {
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
function nameFor({ kind }: AskedObject, { name, generateName }: JsonObject): JsonObject {
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

/**
 * A new key of the holder's own with the groups that they have now, unless it says which ones, perhaps none. What is below a key has
 * those of that key.
 */
export function withMakerGroups(
  object: JsonObject,
  { identity: { kind, user, groups: held }, isLimited }: Pick<Verdict, 'identity' | 'isLimited'>,
): JsonObject {
  const spec = asObject(object['spec']);
  const isOwn = isLeftOut(spec['user']) || spec['user'] === user;
  const isOther = ['accessKey', 'team', 'subject'].some((field) => !isLeftOut(spec[field]));
  if (isLimited || kind !== 'user' || !isOwn || isOther || isSet(spec['groups'])) return object;
  const groups = held.filter((name) => isCleanName(name) && !isReserved(name)).slice(0, maxGroups);
  // The schema asks for the user beside groups.
  return groups.length === 0 ? object : { ...object, spec: { ...spec, user, groups } };
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
  if (isSet(spec['exchange'])) return { object };
  const plain = generateAccessKey(random(accessKeyBytes));
  // No one had this key before, so a copy of another manifest is no restored one.
  const metadata = asObject(object['metadata']);
  const annotations = without(asObject(metadata['annotations']), [names.origin]);
  const key = `sha256:${credentialHash(plain)}`;
  return { object: { ...object, metadata: { ...metadata, annotations }, spec: { ...spec, key } }, plain };
}

/** Who asks, as the API server gets to know it. */
export interface Asker {
  readonly user: string;
  /** In the order in which they are sent. */
  readonly groups: readonly string[];
  /** `name/uid` of the credential that the request came with; absent: it came with none. */
  readonly credential?: string;
  /** Whether that credential has limits. */
  readonly isLimited: boolean;
}

/** Annotations that say who made an object and who changed it. No client chooses them. */
export const recordNames: readonly string[] = [
  names.requester,
  names.requesterGroups,
  names.createdWith,
  names.changedBy,
  names.changedByGroups,
  names.changedBeyondLimits,
  names.exchangedIssuer,
  names.exchangedSubject,
  names.exchangedUntil,
];

const authenticated = 'system:authenticated';

/** Who asks with these headers, to which the API server adds the group of all that it knows. */
export function toAsker(headers: readonly string[], asker: Omit<Asker, 'groups'>, group: string): Asker {
  const sent = headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === 'impersonate-group');
  const all = [...sent, group];
  return { ...asker, groups: all.includes(authenticated) ? all : [...all, authenticated] };
}

/**
 * A new object with the record of its requester, its finalizer, its identity, and whether it goes with its end. The policy
 * `latchkey-requester` writes the same; it may be missing for a moment, and then no client may choose any of it. `exchange`: what is
 * recorded of the token that it comes of.
 */
export function withNewRecord(
  object: JsonObject,
  kind: CredentialKind,
  asker: Asker,
  exchange: JsonObject = {},
): JsonObject {
  const metadata = asObject(object['metadata']);
  const { managedFields: _, ...others } = metadata;
  const annotations = {
    ...without(asObject(metadata['annotations']), recordNames),
    [names.requester]: asker.user,
    [names.requesterGroups]: quoted(asker.groups),
    ...(asker.credential === undefined ? {} : { [names.createdWith]: asker.credential }),
    ...exchange,
  };
  // Declared with kubectl apply or kapp, it would be made again.
  const isDeclared =
    !asker.groups.includes(groups.selfService) || manifestAnnotations.some((name) => name in annotations);
  const label = isDeclared ? {} : { [labels.ephemeral]: 'true' };
  return {
    ...object,
    metadata: {
      ...others,
      annotations,
      ...withLabels(metadata, label),
      finalizers: [...new Set([...asTexts(metadata['finalizers']), finalizers[kind]])],
    },
    ...withOwnUser(object, kind, asker),
  };
}

/** A changed object with the record of the stored one, and with who changed it. `result`: what it is to become, where that is more. */
export function withStoredRecord(object: JsonObject, change: StoredChange, asker: Asker): JsonObject {
  const { kind, stored } = change;
  const [metadata, old] = [asObject(object['metadata']), asObject(stored['metadata'])];
  const label = asObject(old['labels'])[labels.ephemeral];
  const annotations = {
    ...without(asObject(metadata['annotations']), recordNames),
    ...recordAfter(change, asker),
  };
  // Deleted, a key that came of a token still stands for that token.
  const isNeeded = !isSet(old['deletionTimestamp']) || names.exchangedUntil in annotationsOf(stored);
  const isKept = asTexts(old['finalizers']).includes(finalizers[kind]) && isNeeded;
  const kept = [...new Set([...asTexts(metadata['finalizers']), finalizers[kind]])];
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(Object.keys(annotations).length > 0 || isSet(metadata['annotations']) ? { annotations } : {}),
      ...withLabels(metadata, label === undefined ? {} : { [labels.ephemeral]: label }),
      ...(isKept ? { finalizers: kept } : {}),
    },
  };
}

export interface StoredChange {
  readonly kind: CredentialKind;
  readonly stored: JsonObject;
  /** The object after the change. */
  readonly result: JsonObject;
}

/** The annotations of the record after a change. */
function recordAfter(change: StoredChange, asker: Asker): JsonObject {
  const stored = Object.fromEntries(
    Object.entries(annotationsOf(change.stored)).filter(([name]) => recordNames.includes(name)),
  );
  const isChanged = isPrivilegeChange(change);
  const record = isChanged || isRotation(change) ? { ...stored, ...narrowed(change, asker) } : stored;
  if (!isChanged) return record;
  const { [names.changedBeyondLimits]: beyond, ...others } = record;
  return {
    ...others,
    [names.changedBy]: asker.user,
    [names.changedByGroups]: quoted(asker.groups),
    ...(asker.isLimited && beyond !== undefined ? { [names.changedBeyondLimits]: beyond } : {}),
  };
}

/** A token or kubeconfig that speaks for its requester loses the groups that they have left. */
function narrowed({ kind, stored }: StoredChange, { user, groups: held }: Asker): JsonObject {
  const annotations = annotationsOf(stored);
  const speaksForRequester = kind !== 'OwnedAccessKey' && !isSet(asObject(stored['spec'])['accessKey']);
  if (!speaksForRequester || annotations[names.requester] !== user) return {};
  const known = asTexts(parseJSON(String(annotations[names.requesterGroups])));
  if (known.length === 0) return {};
  return { [names.requesterGroups]: quoted(known.filter((group) => held.includes(group))) };
}

/** Fields that give no one anything. An identity never changes. */
const harmless = ['user', 'team', 'subject', 'displayName', 'description', 'disabled'];

/** Whether a change is more than a text, and more than disabling. */
export function isPrivilegeChange({ stored, result }: StoredChange): boolean {
  const [spec, old] = [asObject(result['spec']), asObject(stored['spec'])];
  const enables = spec['disabled'] !== old['disabled'] && spec['disabled'] !== true;
  return enables || !isDeepStrictEqual(without(spec, harmless), without(old, harmless));
}

const isRotation = ({ stored, result }: StoredChange): boolean =>
  annotationsOf(result)[names.rotate] !== annotationsOf(stored)[names.rotate];

/**
 * Keeps some fields of an access key when a PUT leaves them out: an emergency stop, where the key goes, and who is invited.
 * Identities too. The policy `latchkey-kept-fields` does the same.
 */
export function withKeptFields(
  object: JsonObject,
  { kind, stored }: Omit<StoredChange, 'result'>,
): JsonObject {
  if (kind !== 'OwnedAccessKey') return object;
  const [spec, old] = [asObject(object['spec']), asObject(stored['spec'])];
  const isStopped = old['disabled'] === true && asObject(stored['status'])['disabledByExpiry'] === undefined;
  const kept = [
    ...(isStopped ? ['disabled'] : []),
    ...(isSet(spec['key']) ? [] : ['secretRef']),
    'allowedNamespaces',
    ...(hasIdentity(spec) ? [] : identities),
  ].filter((field) => old[field] !== undefined && !isSet(spec[field]));
  if (kept.length === 0) return object;
  return { ...object, spec: { ...spec, ...Object.fromEntries(kept.map((field) => [field, old[field]])) } };
}

/**
 * Keeps fixed fields where an apply leaves them out: the gateway may have set them when the same manager made the object, and the
 * apply would now take them away.
 */
export function withFixedFields(object: JsonObject, stored: JsonObject): JsonObject {
  const [spec, old] = [asObject(object['spec']), asObject(stored['spec'])];
  const fixed = [...(hasIdentity(spec) ? [] : identities), 'accessKey'].filter(
    (field) => isSet(old[field]) && !(field in spec),
  );
  if (fixed.length === 0) return object;
  return { ...object, spec: { ...spec, ...Object.fromEntries(fixed.map((field) => [field, old[field]])) } };
}

const identities = ['user', 'team', 'subject'];

const hasIdentity = (spec: JsonObject): boolean => identities.some((field) => isSet(spec[field]));

/** A key that says nothing else speaks for its requester. */
function withOwnUser(object: JsonObject, kind: CredentialKind, { user }: Asker): JsonObject {
  const spec = asObject(object['spec']);
  const isOpen = kind === 'OwnedAccessKey' && !hasIdentity(spec) && !('accessKey' in spec);
  return isOpen && isCleanName(user) && !isReserved(user) ? { spec: { ...spec, user } } : {};
}

function withLabels(metadata: JsonObject, label: JsonObject): JsonObject {
  const present = asObject(metadata['labels']);
  const all = { ...without(present, [labels.ephemeral]), ...label };
  return Object.keys(all).length > 0 || isSet(metadata['labels']) ? { labels: all } : {};
}

const annotationsOf = (object: JsonObject): JsonObject =>
  asObject(asObject(object['metadata'])['annotations']);

/** As the policy writes it: groups hold printable characters only, so JSON quotes them as CEL does. */
const quoted = (list: readonly string[]): string => JSON.stringify(list);

/** Who the API server takes the request for, when it is sent with this group. */
export function askerOf({ sender, send }: Pick<OwnRequest, 'sender' | 'send'>, group: string): Asker {
  const { record, identity, isLimited } = sender.verdict;
  const asker = { user: identity.user, credential: `${record.name}/${record.uid}`, isLimited };
  return toAsker(send.headers, asker, group);
}
