import { isDeepStrictEqual } from 'node:util';
import { asObject, asText, isObject, isSet, type JsonObject } from '../../../api/json.ts';
import { annotations as annotationNames } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import {
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../api/resources.ts';
import type { Identity } from '../../../credentials/identity.ts';
import { toLiveRecord } from '../../../credentials/live-record.ts';
import { heldPaths, lengthOfHeld, maxHeldBytes } from '../../../credentials/object-size.ts';
import type { CredentialKind, LiveRecord } from '../../../credentials/record.ts';
import type { SitePolicy } from '../../../credentials/site-policy.ts';
import { type KeptParts, nothingKept, sitePolicyRefusal } from '../../../credentials/site-policy-refusal.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import { isProtectedNamespace } from '../../../scope/gate/sensitive.ts';
import { isObjectName } from '../../../scope/request-path.ts';
import { explainDenial } from '../../gate/authorise.ts';
import { isChildOf, isOwn } from '../../index/ownership.ts';
import type { Verdict } from '../../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../../server/error-answer.ts';
import type { EndpointServices } from '../shared/endpoint.ts';
import { Refusal, refuse } from '../shared/reply.ts';
import type { OwnRequest } from './request.ts';
import { isLeftOut, isPrivilegeChange, type StoredChange } from './sent-object.ts';

/**
 * A limited credential changes what is below it. Of itself it changes what gives it nothing, and of all else nothing. The policy
 * `latchkey-ownership` says so too. Throws a Refusal.
 */
export function refuseBeyondLimits(
  { record, isLimited }: Pick<Verdict, 'record' | 'isLimited'>,
  change: StoredChange,
): void {
  if (!isLimited) return;
  const { stored } = change;
  const { name: credential } = record;
  if (asObject(stored['metadata'])['uid'] === record.uid) {
    if (isPrivilegeChange(change)) refuse('ERR_CREDENTIAL_LIMITS', { credential, problem: ofItself });
    return;
  }
  if (!isChildOf(toLink(stored), record)) refuse('ERR_CREDENTIAL_LIMITS', { credential, problem: ofOthers });
}

const ofItself = 'of itself it may change displayName and description, and set disabled to true';
const ofOthers = 'this object does not name it in spec.accessKey';

/** Reads the link to the parent. */
function toLink({ spec, status }: JsonObject) {
  return {
    accessKey: asText(asObject(spec)['accessKey']),
    accessKeyUID: asText(asObject(status)['accessKeyUID']),
  };
}

/** Fields of an access key that single sign-on and the platform set. Nothing is decided by them, but people and tools believe them. */
const fields = ['identity', 'identityRefresh', 'oidcProvider', 'oidcLogin', 'parent'];
const typesOfAnyone: readonly unknown[] = ['', 'User', 'Other'];

/** The first field of the platform that the object has otherwise than the stored one. */
export function changedPlatformField(object: JsonObject, stored: JsonObject = {}): string | undefined {
  const [sent, former] = [asObject(object['spec']), asObject(stored['spec'])];
  return [...fields, 'type'].find((name) => {
    const [value, before] = [contentOf(sent[name]), contentOf(former[name])];
    if (isDeepStrictEqual(value, before)) return false;
    return name !== 'type' || ![value, before].every((type) => typesOfAnyone.includes(type));
  });
}

/** Clients that know no absent fields send empty ones. */
const contentOf = (value: unknown): unknown =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0) ? '' : value;

/** Asks whether the holder may set what only the platform sets, where the object does. Throws a Refusal. */
export async function requirePlatformFields(
  request: OwnRequest,
  ...changed: Parameters<typeof changedPlatformField>
): Promise<void> {
  if (request.kind !== 'OwnedAccessKey') return;
  const field = changedPlatformField(...changed);
  if (field === undefined) return;
  const [object] = changed;
  const name = asText(asObject(object['metadata'])['name']) ?? '';
  const right = {
    verb: 'manage-platform-fields',
    resource: ownedAccessKeys.plural,
    namespace: '',
    // Names that are asked about are kept for a while: a longer one could fill the memory, and no object has it.
    name: isObjectName(name) ? name : '',
  };
  const { permissions } = request.services;
  const { identity } = request.sender.verdict;
  if (!(await permissions.isAllowed(identity, right))) refuse('ERR_PLATFORM_FIELD', { field });
}

/**
 * A credential with a scope makes and changes no Secrets, and the operator would do it in its place where `spec.secretRef` says. A
 * reference that is stored already may stay. Throws a Refusal.
 */
export function refuseNewSecret(
  { gates }: Pick<Verdict, 'gates'>,
  object: JsonObject,
  stored: JsonObject = {},
): void {
  if (gates.length === 0) return;
  const sent = secretRefOf(object);
  if (!isLeftOut(sent) && !isDeepStrictEqual(sent, secretRefOf(stored))) refuse('ERR_SECRET_REFERENCE', {});
}

const secretRefOf = (object: JsonObject): unknown => asObject(object['spec'])['secretRef'];

/** All annotations together, with their names: what an API server takes. */
const maxAnnotations = 262_144;
/** Of `spec`, as JSON: what the policy `latchkey-object-size` lets be made. */
const maxSpec = 400_000;

/**
 * The API server refuses it too, after a tenth of a second in which it serves no one else on that core. Counted in characters, which are never
 * more than bytes. What is larger already may stay, so that it can be disabled. Throws a Refusal.
 */
export function refuseLarge(object: JsonObject, stored: JsonObject = {}): void {
  const annotations = Object.entries(asObject(asObject(object['metadata'])['annotations']));
  const length = annotations.reduce(
    (sum, [name, value]) => sum + name.length + (asText(value) ?? '').length,
    0,
  );
  if (length > maxAnnotations)
    refuse('ERR_OBJECT_TOO_LARGE', { field: 'metadata.annotations', bytes: maxAnnotations });
  const size = lengthOfSpec(object);
  if (size > maxSpec && size > lengthOfSpec(stored))
    refuse('ERR_OBJECT_TOO_LARGE', { field: 'spec', bytes: maxSpec });
  if (size <= maxHeldBytes) return;
  const held = lengthOfHeld(asObject(object['spec']));
  if (held > maxHeldBytes && held > lengthOfHeld(asObject(stored['spec'])))
    refuse('ERR_OBJECT_TOO_LARGE', { field: `${heldPaths} together`, bytes: maxHeldBytes });
}

/** As JSON, but for `disabled`: whatever its size, a credential can be stopped. */
function lengthOfSpec(object: JsonObject): number {
  const { disabled: _, ...spec } = asObject(object['spec']);
  return JSON.stringify(spec).length;
}

interface SiteChange {
  readonly kind: CredentialKind;
  /** As it is to be stored. */
  readonly object: JsonObject;
  /** As it was before. */
  readonly stored?: JsonObject;
}

/**
 * The operator confirms nothing that the site does not want, and says so in the status of the object. Here the holder reads it at once,
 * before there is an object. Of a plain key the gateway stores the hash alone. Throws a Refusal.
 */
export function refuseBySitePolicy(policy: SitePolicy, { kind, object, stored }: SiteChange): void {
  if (isSet(asObject(stored?.['metadata'])['deletionTimestamp'])) return;
  const present = specRecord(object, kind);
  const kept = stored === undefined ? nothingKept : keptParts(present, { kind, object, stored });
  const refusal = sitePolicyRefusal(policy, present, kept);
  if (refusal !== undefined) refuse(refusal.code, { problem: refusal.problem });
}

/** Who asks, and for what. Other annotations may be long, and a record of them takes the main thread long. */
function specRecord({ spec, metadata }: JsonObject, kind: SiteChange['kind']): LiveRecord {
  const { name, annotations } = asObject(metadata);
  const { [requester]: user, [requesterGroups]: userGroups } = asObject(annotations);
  const kept = { [requester]: user, [requesterGroups]: userGroups };
  return toLiveRecord({ spec, metadata: { name, annotations: kept } }, kind);
}

const { requester, requesterGroups } = annotationNames;
const lifeFields = ['ttl', 'ttlAfterLastActivity', 'type', 'certificateTTL'];

function keptParts(present: LiveRecord, { kind, object, stored }: Required<SiteChange>): KeptParts {
  const [spec, old] = [asObject(object['spec']), asObject(stored['spec'])];
  const life = lifeFields.every((field) => isDeepStrictEqual(spec[field], old[field]));
  return { life, grant: isDeepStrictEqual(present.fingerprints, specRecord(stored, kind).fingerprints) };
}

/**
 * Asks whether a new kubeconfig is for somebody who may use its instance. The operator asks at each issue, when the object exists: so
 * anybody could take names and room in every namespace, and learn which ones there are. Throws a Refusal.
 */
export async function requireInstanceUse(request: OwnRequest, object: JsonObject): Promise<void> {
  if (request.kind !== 'VirtualClusterInstanceKubeConfig') return;
  const { namespace } = request.asked;
  const spec = asObject(object['spec']);
  const accessKey = asText(spec['accessKey']);
  const { plural: resource } = virtualClusterInstances;
  const entry = { resource, namespace, name: instanceNameOf(object) };
  requireScope(request, entry);
  const { services, sender } = request;
  const speaker = speakerOf(services, sender.verdict, accessKey);
  const denial =
    (await useDenial(services, speaker, { ...entry, clientCert: spec['clientCert'] === true })) ??
    (await namedKeyDenial(services, sender.verdict, { accessKey, namespace }));
  if (denial !== undefined) throw new Refusal(denial);
}

/** Why someone may not have a kubeconfig for an instance, with a client certificate or without. */
export async function useDenial(
  { permissions }: Pick<EndpointServices, 'permissions'>,
  speaker: Identity,
  { clientCert, ...entry }: Omit<AccessQuestion, 'verb'> & { readonly clientCert: boolean },
): Promise<ErrorAnswer | undefined> {
  const denial = await permissions.denialOf(speaker, { ...entry, verb: 'use' });
  if (denial !== undefined || !clientCert) return denial;
  return await permissions.denialOf(speaker, { ...entry, verb: 'use-as-admin' });
}

/** Requires a scope that allows a POST to the instance. Nothing of a user stands where Latchkey keeps its own. */
function requireScope(
  { asked, sender: { verdict } }: OwnRequest,
  { resource, name }: Pick<AccessQuestion, 'resource' | 'name'>,
): void {
  const { namespace } = asked;
  if (isProtectedNamespace(namespace)) refuse('ERR_NAMESPACE', { namespace });
  const place = {
    resource,
    subresource: 'kubeconfig',
    namespace,
    name,
    allNamespaces: false,
    mayCreate: false,
  };
  const problem = explainDenial(verdict, { ...asked, ...place, verb: 'create' }, { isPlatform: true });
  if (problem !== undefined) refuse('ERR_SCOPE', { problem });
}

/** An instance of its own name, where it names none. What is asked about is kept for a while: a longer name could fill the memory. */
function instanceNameOf({ spec, metadata }: JsonObject): string {
  const name = asText(asObject(spec)['virtualClusterInstance']) ?? asText(asObject(metadata)['name']) ?? '';
  if (name === '' || isObjectName(name)) return name;
  return refuse('ERR_OBJECT_MISMATCH', { problem: 'spec.virtualClusterInstance cannot be the name of one' });
}

/** Of a key that is not one's own nothing is told, not even by a right of its user. */
export function speakerOf(
  { index }: Pick<EndpointServices, 'index'>,
  verdict: Verdict,
  accessKey: string | undefined,
): Identity {
  const key = ownKey(index, verdict, accessKey);
  const found = key && index.find(key.status.credentialHash ?? '');
  return found !== undefined && 'identity' in found ? found.identity : (key?.identity ?? verdict.identity);
}

/** The access key that a kubeconfig names, if it is one of the holder's own. */
export function ownKey(
  index: EndpointServices['index'],
  verdict: Verdict,
  name: string | undefined,
): LiveRecord | undefined {
  const key = name === undefined ? undefined : index.records.ofKind.OwnedAccessKey.get(name);
  return key !== undefined && isOwn(key, verdict) ? key : undefined;
}

interface NamedKey {
  readonly accessKey: string | undefined;
  /** Of the kubeconfig. */
  readonly namespace: string;
}

/**
 * A key may invite a namespace: those who may create kubeconfigs there get some of its user. Through the gateway every holder creates
 * kubeconfigs, so one below a key of somebody else takes that right without it. An answer for those who have it not.
 */
export async function namedKeyDenial(
  { index, permissions }: Pick<EndpointServices, 'index' | 'permissions'>,
  verdict: Verdict,
  { accessKey, namespace }: NamedKey,
): Promise<ErrorAnswer | undefined> {
  if (accessKey === undefined || accessKey === '' || ownKey(index, verdict, accessKey) !== undefined)
    return undefined;
  const { identity } = verdict;
  const { plural: resource } = virtualClusterInstanceKubeConfigs;
  const right = { verb: 'create', resource, namespace, name: '' };
  return (await permissions.isAllowed(identity, right)) ? undefined : foreignKey;
}

const foreignKey = errorAnswer('ERR_KUBECONFIG_FORBIDDEN', {
  reason: reasons.accessKeyNotAllowed,
  problem:
    'spec.accessKey names no key of your own, and that takes the right to create virtualclusterinstancekubeconfigs in the namespace: name one of yours, or leave it out',
});
