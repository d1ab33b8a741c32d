import { parseEnd, parseInstant } from '../api/instant.ts';
import { asObject, asText, asTexts, defined, type JsonObject } from '../api/json.ts';
import { annotations as annotationNames } from '../api/names.ts';
import { type Problem, reasons } from '../api/reasons.ts';
import { toLifetime, toLiveConfirmation } from './confirmation.ts';
import { computeFingerprints, type RawSpec } from './fingerprint.ts';
import { type Identity, identityOfSpec } from './identity.ts';
import { parseSpecKey, type SpecKey } from './keys/spec-key.ts';
import { sizeProblem } from './object-size.ts';
import type {
  CredentialKind,
  KubeConfigSpec,
  LiveConfirmation,
  LiveRecord,
  SecretReference,
  Slots,
} from './record.ts';
import { isCreatedWith, isOwnedBy, type Owned, parseChangedBy, parseRequester } from './requester.ts';
import { shared } from './shared-values.ts';

/**
 * Turns one credential object, as the API server sent it, into what a verifier keeps of it: no plain key or token. Lists carry no
 * `kind` in their items, so it is passed in. Never throws for anything that JSON can hold; what cannot be read makes the record
 * narrower: unconfirmed, ended, or with a `problem`.
 */
export function toLiveRecord(object: unknown, kind: CredentialKind): LiveRecord {
  const { metadata: rawMetadata, spec: rawSpec, status: rawStatus } = asObject(object);
  const [metadata, spec] = [asObject(rawMetadata), asObject(rawSpec)];
  const status = toLiveConfirmation(asObject(rawStatus));
  const annotations = asObject(metadata['annotations']);
  const name = asText(metadata['name']) ?? '';
  const namespace = shared.text(asText(metadata['namespace']));
  const { identity, refusal } = namedBy(spec);
  const tooLarge = sizeProblem(object);
  // Nothing is kept of what no one may use: memory is for all.
  const held = tooLarge === undefined ? { spec, annotations } : { spec: { scope: {} }, annotations: {} };
  const requester = shared.json(parseRequester(annotations));
  const accessKey = shared.text(asText(spec['accessKey']));
  const owned = { kind, accessKey, identity, requester } as Owned;
  return {
    kind,
    // Not a template: joined, the key is one string and not a tree of its parts.
    key: namespace === undefined ? name : [namespace, name].join('/'),
    name,
    namespace,
    uid: asText(metadata['uid']) ?? '',
    resourceVersion: asText(metadata['resourceVersion']) ?? '',
    created: parseInstant(metadata['creationTimestamp']) ?? 0,
    deleted: parseEnd(metadata['deletionTimestamp']),
    requester,
    createdWith: shared.text(asText(held.annotations[annotationNames.createdWith])),
    fingerprints: presentFingerprints(spec, status),
    specKey: readSpecKey(spec['key'], status),
    type: shared.text(asText(spec['type'])),
    identity: shared.json(identity),
    problem: shared.json(tooLarge ?? refusal ?? referenceProblem(spec) ?? stampProblem(annotations, owned)),
    disabled: spec['disabled'] !== undefined && spec['disabled'] !== null && spec['disabled'] !== false,
    ttl: toLifetime(spec[kind === 'VirtualClusterInstanceKubeConfig' ? 'certificateTTL' : 'ttl']),
    ttlAfterLastActivity: spec['ttlAfterLastActivity'] === true,
    kubeConfig: kind === 'VirtualClusterInstanceKubeConfig' ? parseKubeConfigSpec(spec, name) : undefined,
    scope: shared.json(held.spec['scope']),
    rules: shared.json(parseRules(held.spec['rules'])),
    allowPlatformCli: spec['allowPlatformCli'] === true,
    secretRef: kind === 'OwnedAccessKey' ? parseSecretRef(spec['secretRef']) : undefined,
    exchange: kind === 'OwnedAccessKey' ? parseExchange(held.spec, held.annotations) : undefined,
    accessKey,
    allowedNamespaces: shared.json(asTexts(spec['allowedNamespaces'])),
    status,
  } satisfies Slots<LiveRecord> as LiveRecord;
}

function namedBy(spec: RawSpec): { readonly identity?: Identity; readonly refusal?: Problem } {
  return identityOfSpec(spec) ?? {};
}

/** The confirmed spec is mostly the present one: then the text stands in memory once. */
function presentFingerprints(spec: RawSpec, { fingerprint }: LiveConfirmation): readonly string[] {
  return computeFingerprints(spec).map((present) => (present === fingerprint ? fingerprint : present));
}

const parseRules = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) && value.length > 0 ? value : undefined;

function parseKubeConfigSpec(spec: RawSpec, name: string): KubeConfigSpec {
  return shared.json<KubeConfigSpec>(
    defined({
      instance: asText(spec['virtualClusterInstance']) ?? name,
      clientCert: spec['clientCert'] === true,
      server: asText(spec['server']),
    }),
  );
}

/** The hash is mostly the confirmed one: then it stands in memory once. */
function readSpecKey(value: unknown, { credentialHash }: LiveConfirmation): SpecKey | undefined {
  try {
    const key = parseSpecKey(value);
    return key !== undefined && key.hash === credentialHash ? { ...key, hash: credentialHash } : key;
  } catch (error) {
    if (error instanceof RangeError) return { form: 'Plain', hash: '', wellFormed: false };
    throw error;
  }
}

function parseExchange(spec: RawSpec, annotations: JsonObject): LiveRecord['exchange'] {
  const trust = spec['exchange'] ?? undefined;
  const issuer = asText(annotations[annotationNames.exchangedIssuer]);
  const subject = asText(annotations[annotationNames.exchangedSubject]);
  const token = issuer === undefined ? undefined : defined({ issuer, subject });
  return trust === undefined && token === undefined ? undefined : shared.json(defined({ trust, token }));
}

export function parseSecretRef(value: unknown): SecretReference | undefined {
  const reference = asObject(value);
  const name = asText(reference['name']);
  if (name === undefined) return undefined;
  return {
    name,
    namespace: shared.text(asText(reference['namespace'])),
    key: shared.text(asText(reference['key'])),
  } satisfies Slots<SecretReference> as SecretReference;
}

/** A reference that cannot be read must not count as none: without `accessKey` a token would speak for its requester. */
function referenceProblem(spec: RawSpec): Problem | undefined {
  const { accessKey, secretRef } = spec;
  if (typeof (accessKey ?? '') !== 'string') {
    return {
      reason: reasons.accessKeyNotFound,
      message: 'spec.accessKey must be the name of an OwnedAccessKey',
    };
  }
  if ((secretRef ?? undefined) !== undefined && parseSecretRef(secretRef) === undefined) {
    return {
      reason: reasons.secretFailed,
      message: 'spec.secretRef must name a Secret in spec.secretRef.name',
    };
  }
  return undefined;
}

/** A limited credential must not lift limits, its own or those of others, in a moment in which the policy that refuses it is away. */
const beyondLimits: Problem = {
  reason: reasons.changedBeyondLimits,
  message: `a limited credential changed spec beyond its limits while an admission policy was missing (the annotation ${annotationNames.changedBeyondLimits} names it): set spec to what it shall be, with a credential without a scope`,
};

/** A stamp that cannot be read must not count as a request without a credential: that would lift its limits. */
function stampProblem(annotations: JsonObject, owned: Owned): Problem | undefined {
  const { createdWith, changedBeyondLimits } = annotationNames;
  const credential = asText(annotations[createdWith]);
  if (credential !== undefined && !isCreatedWith(credential)) {
    const message = `the annotation ${createdWith} does not name one credential; create the object again`;
    return { reason: reasons.requesterUnknown, message };
  }
  return changedBeyondLimits in annotations ? beyondLimits : changeProblem(annotations, owned);
}

/** Not all of a spec is asked about again, and a stranger must change nothing of it while the policy that refuses that is away. */
function changeProblem(annotations: JsonObject, owned: Owned): Problem | undefined {
  const { changedBy, changedByGroups } = annotationNames;
  if (!(changedBy in annotations || changedByGroups in annotations)) return undefined;
  const by = parseChangedBy(annotations);
  if (by === undefined) {
    const message = `the annotations ${changedBy} and ${changedByGroups} do not say who changed this; create the object again`;
    return { reason: reasons.requesterUnknown, message };
  }
  if (isOwnedBy(by, owned)) return undefined;
  const message = `the user ${JSON.stringify(by.user)} changed spec or the annotation ${annotationNames.rotate} while an admission policy was missing, and neither made this object nor is its user: look at both, then change spec as one of these`;
  return { reason: reasons.changeNotAllowed, message };
}
