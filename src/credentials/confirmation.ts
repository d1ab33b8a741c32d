import type { Condition } from '../api/conditions.ts';
import { parseEnd, parseInstant } from '../api/instant.ts';
import { asCount, asObject, asText, asTexts, defined, type JsonObject } from '../api/json.ts';
import type {
  Confirmation,
  KeySource,
  KubeConfigAuth,
  LiveConfirmation,
  NamespacePin,
  PreviousCredential,
  Slots,
} from './record.ts';
import { shared } from './shared-values.ts';
import { isTokenIDHash } from './token-id.ts';

/**
 * Reads the confirmation of `status` for a verifier. What cannot be read counts as never confirmed, or, where it is an end, as over. Never
 * throws.
 */
export function toLiveConfirmation(status: JsonObject): LiveConfirmation {
  return {
    credentialHash: asHash(status['credentialHash']),
    fingerprint: asText(status['fingerprint']),
    serial: asCount(status['serial']) ?? 0,
    notAfter: parseEnd(status['notAfter']),
    issuedAt: parseInstant(status['issuedAt']),
    confirmedTTL: toLifetime(status['confirmedTTL']),
    previous: toPrevious(status['previous']),
    accessKeyUID: shared.text(asText(status['accessKeyUID'])),
    chain: asText(status['chain']),
    signingKeyID: shared.text(asText(status['signingKeyID'])),
    tokenIDHash: toTokenIDHash(status),
    confirmedGroups: toGroups(status['confirmedGroups']),
    subject: shared.text(asText(status['subject'])),
    lastActivity: parseInstant(status['lastActivity']),
    instanceUID: shared.text(asText(status['virtualClusterInstanceUID'])),
  } satisfies Slots<LiveConfirmation> as LiveConfirmation;
}

function toGroups(value: unknown): readonly string[] | undefined {
  return value === undefined || value === null ? undefined : shared.json(asTexts(value));
}

/** All that `status` confirms. */
export function toConfirmation(status: JsonObject, live: LiveConfirmation): Confirmation {
  const { observedRotation, active, audiences, boundSerials, allowedNamespaces } = status;
  return {
    ...(live as Slots<LiveConfirmation>),
    keyID: asText(status['keyID']),
    audiences: Array.isArray(audiences) ? shared.json(asTexts(audiences)) : undefined,
    keySource: keySources.find((source) => source === status['keySource']),
    requester: shared.text(asText(status['requester'])),
    observedRotation: typeof observedRotation === 'string' ? observedRotation : undefined,
    disabledByExpiry: asCount(status['disabledByExpiry']),
    active: typeof active === 'boolean' ? active : undefined,
    expirationTimestamp: parseInstant(status['expirationTimestamp']),
    auth: kubeConfigAuths.find((auth) => auth === status['auth']),
    documentHash: asHash(status['documentHash']),
    targetHash: shared.text(asHash(status['targetHash'])),
    scope: shared.text(asText(status['scope'])),
    state: shared.text(asText(status['state'])),
    clusterUID: shared.text(asText(status['clusterUID'])),
    criticalScopes: status['criticalScopes'] === true ? true : undefined,
    allowedNamespaces: Array.isArray(allowedNamespaces) ? shared.json(toPins(allowedNamespaces)) : undefined,
    boundSerials: Array.isArray(boundSerials) ? shared.json(toSerials(boundSerials)) : undefined,
  } satisfies Slots<Confirmation> as Confirmation;
}

const toPins = (list: readonly unknown[]): readonly NamespacePin[] =>
  list
    .map(asObject)
    .map(({ name, uid }): NamespacePin => defined({ name: asText(name) ?? '', uid: asText(uid) }))
    .filter(({ name }) => name !== '');

const toSerials = (list: readonly unknown[]): readonly number[] =>
  list.map(asCount).filter((serial) => serial !== undefined);

const kubeConfigAuths: readonly KubeConfigAuth[] = ['Token', 'ClientCertificate'];

/** Seconds of a life time. `undefined`: absent. -1: present, and no number of seconds from 0 on. */
export function toLifetime(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  return asCount(value) ?? -1;
}

const keySources: readonly KeySource[] = ['Generated', 'Plain', 'Hash', 'Secret', 'Exchange'];

function toPrevious(value: unknown): PreviousCredential | undefined {
  const previous = asObject(value);
  const credentialHash = asHash(previous['credentialHash']);
  const serial = asCount(previous['serial']);
  const expirationTimestamp = parseInstant(previous['expirationTimestamp']);
  if (credentialHash === undefined || serial === undefined || expirationTimestamp === undefined)
    return undefined;
  return defined({
    credentialHash,
    serial,
    expirationTimestamp,
    issuedAt: parseInstant(previous['issuedAt']),
    // Earlier releases called it `keyID`. First, because they leave the field that they do not know as it was before.
    signingKeyID: shared.text(asText(previous['keyID']) ?? asText(previous['signingKeyID'])),
    tokenIDHash: toTokenIDHash(previous),
  });
}

/** An operator of an earlier release issues another token, with another serial, and leaves the ID of the former one as it was. */
function toTokenIDHash({ tokenID, serial }: JsonObject): string | undefined {
  const { serial: own, hash } = asObject(tokenID);
  return isTokenIDHash(hash) && asCount(own) !== undefined && own === serial ? hash : undefined;
}

function asHash(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? value : undefined;
}

/** `status.conditions`; what has no type is left out. */
export function parseConditions(value: unknown): readonly Condition[] {
  if (!Array.isArray(value)) return [];
  return value
    .map(asObject)
    .filter(({ type }) => asText(type) !== undefined)
    .map(toCondition);
}

function toCondition({ type, status, reason, message, ...rest }: JsonObject): Condition {
  return {
    type: shared.text(asText(type)),
    status: shared.text(asText(status)),
    reason: shared.text(asText(reason)),
    message: typeof message === 'string' ? shared.text(message) : undefined,
    observedGeneration: asCount(rest['observedGeneration']),
    lastTransitionTime: asText(rest['lastTransitionTime']),
  } satisfies Record<keyof Slots<Condition>, unknown> as Condition;
}
