import { isDeepStrictEqual } from 'node:util';
import { asObject, isSet, type JsonObject } from '../../api/json.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import type { CredentialKind } from '../../credentials/record.ts';
import type { SitePolicy } from '../../credentials/site-policy.ts';
import { type KeptParts, nothingKept, sitePolicyRefusal } from '../../credentials/site-policy-refusal.ts';
import { refuse } from './refusal.ts';

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
  const kept = stored === undefined ? nothingKept : keptParts({ kind, object, stored });
  const refusal = sitePolicyRefusal(policy, toLiveRecord(object, kind), kept);
  if (refusal !== undefined) refuse(refusal.code, { problem: refusal.problem });
}

const lifeFields = ['ttl', 'ttlAfterLastActivity', 'type', 'certificateTTL'];

function keptParts({ kind, object, stored }: Required<SiteChange>): KeptParts {
  const [spec, old] = [asObject(object['spec']), asObject(stored['spec'])];
  const life = lifeFields.every((field) => isDeepStrictEqual(spec[field], old[field]));
  const [present, former] = [toLiveRecord(object, kind), toLiveRecord(stored, kind)];
  return { life, grant: isDeepStrictEqual(present.fingerprints, former.fingerprints) };
}
