import { parseEnd, parseInstant } from '../api/instant.ts';
import { asCount, asObject, asText, asTexts, defined, type JsonObject } from '../api/json.ts';
import { annotations as annotationNames, labels as labelNames } from '../api/names.ts';
import { reasons } from '../api/reasons.ts';
import { conditionsOf } from './conditions-of.ts';
import { toConfirmation, toLifetime } from './confirmation.ts';
import { fingerprintsOf, type RawSpec } from './fingerprint.ts';
import { identityOfSpec, type Refusal } from './identity.ts';
import { credentialHash } from './keys/credential-hash.ts';
import { parseSpecKey, type SpecKey } from './keys/spec-key.ts';
import { isWrittenByOperator, ownerOfSpecField } from './managed-fields.ts';
import type { CredentialKind, CredentialRecord, KubeConfigSpec, SecretReference } from './record.ts';
import { isCreatedWith, parseRequester } from './requester.ts';

/**
 * Turns one credential object, as the API server sent it, into the slim record: no plain key or token, no prose, no managed
 * fields. Lists carry no `kind` in their items, so it is passed in. Never throws for anything that JSON can hold; what cannot be
 * read makes the record narrower: unconfirmed, ended, or with a `problem`.
 */
export function toCredentialRecord(object: unknown, kind: CredentialKind): CredentialRecord {
  const { metadata: rawMetadata, spec: rawSpec, status: rawStatus } = asObject(object);
  const [metadata, spec, status] = [asObject(rawMetadata), asObject(rawSpec), asObject(rawStatus)];
  const fields = { ...fromMetadata(metadata), ...fromSpec(spec) };
  const isKubeConfig = kind === 'VirtualClusterInstanceKubeConfig';
  return defined({
    kind,
    ...fields,
    kubeConfig: isKubeConfig ? kubeConfigOf(spec, fields.name) : undefined,
    problem: sizeProblem(object) ?? fields.problem ?? stampProblem(fields.createdWith),
    disabledOwner: ownerOfSpecField(metadata['managedFields'], 'disabled'),
    keyWrittenByOperator: isWrittenByOperator(metadata['managedFields'], 'key'),
    holdsCredential: asText(status['token'] ?? status['kubeConfig']) !== undefined,
    status: toConfirmation(status),
    observedGeneration: asCount(status['observedGeneration']) ?? -1,
    conditions: conditionsOf(status['conditions']),
  });
}

/** Characters of JSON. The API server takes one and a half times as much, so that there is room for a deletion timestamp. */
const maxObjectSize = 1_000_000;

/**
 * An object at the limit of etcd can be neither disabled nor deleted, because both make it larger. So padding an
 * object must end its credential, not protect it.
 */
function sizeProblem(object: unknown): Refusal | undefined {
  if (sizeOf(object) <= maxObjectSize) return undefined;
  return {
    reason: reasons.objectTooLarge,
    message: 'the object is larger than 1 MB; shorten spec, labels and annotations',
  };
}

/** Infinite for what is nested too deep to be written. */
function sizeOf(object: unknown): number {
  try {
    return JSON.stringify(object)?.length ?? 0;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function fromMetadata(metadata: JsonObject) {
  const name = asText(metadata['name']) ?? '';
  const namespace = asText(metadata['namespace']);
  const annotations = asObject(metadata['annotations']);
  return {
    key: namespace === undefined ? name : `${namespace}/${name}`,
    name,
    namespace,
    uid: asText(metadata['uid']) ?? '',
    resourceVersion: asText(metadata['resourceVersion']) ?? '',
    generation: asCount(metadata['generation']) ?? 0,
    created: parseInstant(metadata['creationTimestamp']) ?? 0,
    deleted: parseEnd(metadata['deletionTimestamp']),
    finalizers: asTexts(metadata['finalizers']),
    requester: parseRequester(annotations),
    createdWith: asText(annotations[annotationNames.createdWith]),
    rotate: shortened(asText(annotations[annotationNames.rotate])),
    ephemeral: asObject(metadata['labels'])[labelNames.ephemeral] === 'true',
  };
}

/** Only whether it changed counts, and it is copied into status. */
function shortened(value: string | undefined): string | undefined {
  return value === undefined || value.length <= 256 ? value : credentialHash(value);
}

function fromSpec(spec: RawSpec) {
  const named = identityOfSpec(spec);
  return {
    fingerprints: fingerprintsOf(spec),
    specKey: specKeyOf(spec['key']),
    identity: named !== undefined && 'identity' in named ? named.identity : undefined,
    problem: named !== undefined && 'refusal' in named ? named.refusal : referenceProblem(spec),
    type: asText(spec['type']),
    disabled: spec['disabled'] !== undefined && spec['disabled'] !== null && spec['disabled'] !== false,
    ttl: toLifetime(spec['ttl']),
    ttlAfterLastActivity: spec['ttlAfterLastActivity'] === true,
    certificateTTL: toLifetime(spec['certificateTTL']),
    renewBefore: asCount(spec['renewBefore']),
    scope: spec['scope'],
    rules: Array.isArray(spec['rules']) && spec['rules'].length > 0 ? spec['rules'] : undefined,
    allowPlatformCli: spec['allowPlatformCli'] === true,
    secretRef: secretRefOf(spec['secretRef']),
    accessKey: asText(spec['accessKey']),
    allowedNamespaces: asTexts(spec['allowedNamespaces']),
    holdsLoginSecrets: holdsLoginSecrets(spec),
  };
}

function kubeConfigOf(spec: RawSpec, name: string): KubeConfigSpec {
  return defined({
    instance: asText(spec['virtualClusterInstance']) ?? name,
    clientCert: spec['clientCert'] === true,
    server: asText(spec['server']),
  });
}

function specKeyOf(value: unknown): SpecKey | undefined {
  try {
    return parseSpecKey(value);
  } catch (error) {
    if (error instanceof RangeError) return { form: 'Plain', hash: '', wellFormed: false };
    throw error;
  }
}

function secretRefOf(value: unknown): SecretReference | undefined {
  const reference = asObject(value);
  const name = asText(reference['name']);
  if (name === undefined) return undefined;
  const [namespace, key] = [asText(reference['namespace']), asText(reference['key'])];
  return defined({ name, namespace, key });
}

/** A reference that cannot be read must not count as none: without `accessKey` a token would speak for its requester. */
function referenceProblem(spec: RawSpec): Refusal | undefined {
  const { accessKey, secretRef } = spec;
  if (typeof (accessKey ?? '') !== 'string') {
    return {
      reason: reasons.accessKeyNotFound,
      message: 'spec.accessKey must be the name of an OwnedAccessKey',
    };
  }
  if ((secretRef ?? undefined) !== undefined && secretRefOf(secretRef) === undefined) {
    return {
      reason: reasons.secretFailed,
      message: 'spec.secretRef must name a Secret in spec.secretRef.name',
    };
  }
  return undefined;
}

/** A stamp that cannot be read must not count as a request without a credential: that would lift its limits. */
function stampProblem(createdWith: string | undefined): Refusal | undefined {
  if (createdWith === undefined || isCreatedWith(createdWith)) return undefined;
  const message = `the annotation ${annotationNames.createdWith} does not name one credential; create the object again`;
  return { reason: reasons.requesterUnknown, message };
}

function holdsLoginSecrets(spec: RawSpec): boolean {
  const login = asObject(spec['oidcLogin']);
  const secrets = [
    asObject(spec['identity'])['connectorData'],
    login['idToken'],
    login['accessToken'],
    login['refreshToken'],
  ];
  return secrets.some((secret) => asText(secret) !== undefined);
}
