import { toCredentialRecord } from '../../src/credentials/credential-record.ts';
import { toLiveRecord } from '../../src/credentials/live-record.ts';
import type { CredentialKind } from '../../src/credentials/record.ts';
import { credentialObject } from '../world/credential-objects.ts';

type MakeRecord = (object: unknown, kind: CredentialKind) => unknown;

/** The kept forms of an object. */
export const forms = {
  parsed: (object) => object,
  full: toCredentialRecord,
  live: toLiveRecord,
} as const satisfies Record<string, MakeRecord>;

export type Form = keyof typeof forms;

/** One object as it comes over the network. */
export function objectText(kind: CredentialKind, index: number): string {
  return JSON.stringify(credentialObject(kind, index));
}
