import { expect } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';

/** Fields that a verifier grants by. None of them may stand in a status without the rest. */
const confirmation = [
  'credentialHash',
  'fingerprint',
  'confirmedTTL',
  'notAfter',
  'token',
  'chain',
  'previous',
];

/** Expects that the operator has reconciled the present spec, says why it issues nothing, and left nothing half done. */
export function expectNothingConfirmed({ metadata, status }: Stored): void {
  expect(Object.keys(status).filter((field) => confirmation.includes(field))).toEqual([]);
  expect(status.observedGeneration).toBe(metadata.generation);
  const conditions = status.conditions as { type: string; status: string; message: string; reason: string }[];
  const types = conditions.map(({ type }) => type).sort();
  expect([['Ready', 'Stalled'], ['Ready', 'Reconciling'].toSorted()]).toContainEqual(types);
  const [one, other] = conditions;
  expect(one).toMatchObject({ reason: other?.reason, message: other?.message });
}

/** Expects that a credential was issued whole. */
export function expectConfirmed({ metadata, status }: Stored): void {
  const always = ['credentialHash', 'fingerprint', 'confirmedTTL', 'serial', 'keyID'];
  expect(Object.keys(status)).toEqual(expect.arrayContaining(always));
  expect(status.observedGeneration).toBe(metadata.generation);
  expect(status.conditions).toEqual([expect.objectContaining({ type: 'Ready', status: 'True' })]);
}
