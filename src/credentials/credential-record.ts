import { asCount, asObject, asText, asTexts, type JsonObject } from '../api/json.ts';
import { annotations as annotationNames, labels as labelNames } from '../api/names.ts';
import { parseConditions } from './conditions.ts';
import { toConfirmation } from './confirmation.ts';
import { credentialHash } from './keys/credential-hash.ts';
import { parseSecretRef, toLiveRecord } from './live-record.ts';
import { isWrittenByOperator, ownerOfSpecField } from './managed-fields.ts';
import type { CredentialKind, CredentialRecord, LiveRecord, Slots } from './record.ts';
import { shared } from './shared-values.ts';

/**
 * Turns one credential object into what the operator keeps of it: what verifiers need, and what it takes to decide on its
 * next step; no plain key or token, no prose, no managed fields. As careful as {@link toLiveRecord}.
 */
export function toCredentialRecord(object: unknown, kind: CredentialKind): CredentialRecord {
  const { metadata: rawMetadata, spec: rawSpec, status: rawStatus } = asObject(object);
  const [metadata, spec, status] = [asObject(rawMetadata), asObject(rawSpec), asObject(rawStatus)];
  const annotations = asObject(metadata['annotations']);
  const live = toLiveRecord(object, kind);
  return {
    ...(live as Slots<LiveRecord>),
    secretRef: parseSecretRef(spec['secretRef']),
    status: toConfirmation(status, live.status),
    generation: asCount(metadata['generation']) ?? 0,
    finalizers: shared.json(asTexts(metadata['finalizers'])),
    createdWith: shared.text(asText(annotations[annotationNames.createdWith])),
    rotate: shortened(asText(annotations[annotationNames.rotate])),
    ephemeral: asObject(metadata['labels'])[labelNames.ephemeral] === 'true',
    type: shared.text(asText(spec['type'])),
    disabledOwner: ownerOfSpecField(metadata['managedFields'], 'disabled'),
    keyWrittenByOperator: isWrittenByOperator(metadata['managedFields'], 'key'),
    renewBefore: asCount(spec['renewBefore']),
    holdsLoginSecrets: holdsLoginSecrets(spec),
    holdsCredential: asText(status['token'] ?? status['kubeConfig']) !== undefined,
    observedGeneration: asCount(status['observedGeneration']) ?? -1,
    conditions: parseConditions(status['conditions']),
  } satisfies Slots<CredentialRecord> as CredentialRecord;
}

/** Only whether it changed counts, and it is copied into status. */
function shortened(value: string | undefined): string | undefined {
  return value === undefined || value.length <= 256 ? value : credentialHash(value);
}

/** Fields of `spec` that hold login data, which must not stay where a reader of the object sees it. */
export const loginFields = [
  ['identity', 'connectorData'],
  ['oidcLogin', 'idToken'],
  ['oidcLogin', 'accessToken'],
  ['oidcLogin', 'refreshToken'],
] as const;

const holdsLoginSecrets = (spec: JsonObject): boolean =>
  loginFields.some(([parent, field]) => asText(asObject(spec[parent])[field]) !== undefined);
