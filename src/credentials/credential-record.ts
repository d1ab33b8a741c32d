import { credentialKinds } from '../api/credential-kinds.ts';
import { parseInstant } from '../api/instant.ts';
import { asCount, asObject, asText, asTexts, type JsonObject } from '../api/json.ts';
import {
  annotations as annotationNames,
  fieldManager,
  labels as labelNames,
  loginFields,
} from '../api/names.ts';
import { reasons } from '../api/reasons.ts';
import { parseConditions, toConfirmation } from './confirmation.ts';
import { credentialHash } from './keys/credential-hash.ts';
import { parseSecretRef, toLiveRecord } from './live-record.ts';
import type { CredentialKind, CredentialRecord, LiveRecord, Slots } from './record.ts';
import { parseChangedBy } from './requester.ts';
import { parseSecretTemplate } from './secret-template.ts';
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
  const { statusField } = credentialKinds[kind];
  return {
    ...(live as Slots<LiveRecord>),
    secretRef: parseSecretRef(spec['secretRef']),
    secretTemplate: isHeld(live) ? shared.json(parseSecretTemplate(spec['secretRef'])) : undefined,
    status: toConfirmation(status, live.status),
    generation: asCount(metadata['generation']) ?? 0,
    finalizers: shared.json(asTexts(metadata['finalizers'])),
    changedBy: shared.json(parseChangedBy(annotations)),
    isBeyondLimits: annotationNames.changedBeyondLimits in annotations,
    rotate: shortened(asText(annotations[annotationNames.rotate])),
    isRestored: annotations[annotationNames.origin] === 'restored',
    exchangedUntil: parseInstant(annotations[annotationNames.exchangedUntil]),
    ephemeral: asObject(metadata['labels'])[labelNames.ephemeral] === 'true',
    disabledOwner: ownerOfSpecField(metadata['managedFields'], 'disabled'),
    keyWrittenByOperator: isWrittenByOperator(metadata['managedFields'], 'key'),
    renewBefore: asCount(spec['renewBefore']),
    holdsLoginSecrets: holdsLoginSecrets(spec),
    holdsCredential: statusField !== undefined && asText(status[statusField]) !== undefined,
    observedGeneration: asCount(status['observedGeneration']) ?? -1,
    conditions: parseConditions(status['conditions']),
  } satisfies Slots<CredentialRecord> as CredentialRecord;
}

const isHeld = ({ problem }: LiveRecord): boolean => problem?.reason !== reasons.objectTooLarge;

/** Only whether it changed counts, and it is copied into status. */
function shortened(value: string | undefined): string | undefined {
  return value === undefined || value.length <= 256 ? value : credentialHash(value);
}

const holdsLoginSecrets = (spec: JsonObject): boolean =>
  Object.entries(loginFields).some(([parent, fields]) => {
    const login = asObject(spec[parent]);
    return fields.some((field) => asText(login[field]) !== undefined);
  });

/** Who owns the field `spec.<name>` by `metadata.managedFields`. Several owners, or any manager but the operator's: `other`. */
function ownerOfSpecField(managedFields: unknown, name: string): 'none' | 'operator' | 'other' {
  const managers = managersOf(managedFields, name);
  if (managers.length === 0) return 'none';
  return managers.every((manager) => manager === fieldManager) ? 'operator' : 'other';
}

/** Whether the operator's field manager is among the owners of `spec.<name>`: it wrote the value that stands there. */
function isWrittenByOperator(managedFields: unknown, name: string): boolean {
  return managersOf(managedFields, name).includes(fieldManager);
}

function managersOf(managedFields: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(managedFields)) return [];
  return managedFields
    .map(asObject)
    .filter((entry) => Object.hasOwn(asObject(asObject(entry['fieldsV1'])['f:spec']), `f:${name}`))
    .map((entry) => entry['manager']);
}
