import { expect } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import type { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import type { World } from '../../../lab/operator/world.ts';
import { confirmationsOf, type WriteGate } from '../../../lab/operator/write-gate.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { untilReady, untilReadyz } from './readyz.ts';
import { createInSecret, expectWhole } from './secret-keys.ts';

/** Something that keeps the operator from working, and what `/readyz` says while it lasts. */
export interface Outage {
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
  readonly says: RegExp;
}

/** An operator that meets outages, and the gate through which all its requests go. */
export interface Patient {
  readonly world: World;
  readonly gate: WriteGate;
  readonly operator: RunningOperator;
}

/** Shorter than any outage is before it shows. */
const shortTTL = 12;
/** The lease runs out, the next term reads everything, and the longest pause between two tries of a queue passes. */
const backWithinMs = 30_000;

/** Access keys whose texts are in Secrets. */
export async function createKeys({ world }: Patient, count: number): Promise<readonly Stored[]> {
  return await Promise.all(Array.from({ length: count }, async () => await createInSecret(world, 'ill')));
}

/** It was issued once: by the object, by its Secret, and by what went through the gate. */
export async function expectIssuedOnce({ world, gate }: Patient, key: Stored): Promise<void> {
  const status = await expectWhole(world, key);
  await gate.settled();
  const confirmed = confirmationsOf(gate).filter(({ name }) => name === key.metadata.name);
  // None where the answer was lost and the write was not.
  expect([[], [status.credentialHash]]).toContainEqual(confirmed.map(({ hash }) => hash));
}

/**
 * Brings the outage over an operator that has issued keys, is about to issue others, and has to end one before it is over.
 * Resolves when all of it is as if nothing had been, by itself and in time.
 */
export async function liveThrough(patient: Patient, { begin, end, says }: Outage): Promise<void> {
  const { world, operator } = patient;
  const { admin } = world;
  const issued = await createKeys(patient, 3);
  for (const key of issued) await admin.untilReady(key);
  const ending = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: shortTTL }));
  const [underWay, goOn] = await createHeld(patient, 5);

  try {
    await begin();
    goOn();
    await untilReadyz(operator, 503, says);
    await until('one has ended', async () => Date.now() > Date.parse(ending.status.expirationTimestamp));
  } finally {
    // Also where it failed: the outages after it begin with all in order.
    goOn();
    await end();
  }

  await untilReady(operator, backWithinMs);
  for (const key of underWay) await admin.untilReady(key, { timeoutMs: backWithinMs });
  await admin.untilRefused(ending, reasons.expired, { timeoutMs: backWithinMs });
  const made = await createKeys(patient, 1);
  for (const key of made) await admin.untilReady(key);
  for (const key of [...issued, ...underWay, ...made]) await expectIssuedOnce(patient, key);
  expect(operator.exited).toBe(false);
}

/** Keys whose confirmation is on its way, and what lets it go on. */
async function createHeld(
  patient: Patient,
  count: number,
): Promise<readonly [readonly Stored[], () => void]> {
  const { gate } = patient;
  const held = Promise.withResolvers<'pass'>();
  let waiting = 0;
  gate.judge = ({ subresource, body }) => {
    if (subresource !== 'status' || typeof body.status?.credentialHash !== 'string') return 'pass';
    waiting += 1;
    return held.promise;
  };
  const keys = await createKeys(patient, count);
  await until('all are about to be confirmed', async () => waiting >= count);
  const goOn = () => {
    gate.judge = () => 'pass';
    held.resolve('pass');
  };
  return [keys, goOn];
}
