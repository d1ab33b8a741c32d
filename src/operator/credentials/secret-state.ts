import { defined } from '../../api/json.ts';
import { purposes } from '../../api/names.ts';
import { type SecretState, stateText } from '../../credentials/credential-secret.ts';
import { layoutDigest } from '../../credentials/secret-template.ts';
import type { DecisionInput } from './decision.ts';
import type { DesiredStatus } from './desired-status.ts';
import { isKnownLayout } from './secret-layout.ts';
import type { SecretRecord } from './secret-record.ts';

/** A Secret, and what it is to say of its credential. */
export interface SecretUpdate {
  readonly secret: SecretRecord;
  readonly state: SecretState;
  /** SHA-256, hexadecimal, of the confirmed credential: what else stands in the Secret is no one's to copy into other entries. */
  readonly contentHash?: string;
}

/** The same as the status says, for those who read the Secret alone. */
export function secretState({ ready, confirmation }: DesiredStatus): SecretState {
  const { expirationTimestamp: expires, fingerprint } = confirmation;
  return { reason: ready.reason, ...defined({ expires, fingerprint }) };
}

/** Of the Secret that stays where the spec names it; undefined where it says so already, and looks as its template says. */
export function secretUpdate(
  { record, secret, layout }: SecretInput,
  desired: DesiredStatus,
): SecretUpdate | undefined {
  if (secret?.ownerUID !== record.uid || secret.deleting || secret.purpose !== purposes.credential)
    return undefined;
  const state = secretState(desired);
  if (secret.state === stateText(state) && looksAsAsked(secret, layout)) return undefined;
  const { credentialHash, documentHash = credentialHash } = desired.confirmation;
  return { secret, state, ...defined({ contentHash: documentHash }) };
}

type SecretInput = Pick<DecisionInput, 'record' | 'secret' | 'layout'>;

function looksAsAsked(secret: SecretRecord, layout: SecretInput['layout']): boolean {
  if (!isKnownLayout(layout)) return true;
  return secret.template === (layout && layoutDigest(layout)) && secret.followsLayout !== false;
}
