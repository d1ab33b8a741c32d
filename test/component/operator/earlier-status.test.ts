import { expect, it } from 'vitest';
import type { CredentialRecord } from '../../../src/credentials/record.ts';
import { Simulation } from './simulation.ts';

const keys = 'ownedaccesskeys';
const tokens = 'directclusterendpointtokens';
const objects = 100;
const rate = 20;

/** Stages what an operator of an earlier release left behind, and the process that takes over. */
async function upgraded(): Promise<Simulation> {
  const simulation = new Simulation([]);
  await simulation.runUntilIdle();
  for (let index = 0; index < objects / 2; index++) {
    simulation.create(keys, `key-${index}`, { user: 'alice' });
    simulation.create(tokens, `token-${index}`, { ttl: 86_400 });
  }
  await simulation.runUntilIdle();
  for (const { kind, key, status } of simulation.records()) {
    const isKey = kind === 'OwnedAccessKey';
    const keyID = isKey ? status.keyID : status.signingKeyID;
    const earlier = { keyID, signingKeyID: null, subject: null, audiences: null, scope: null, state: null };
    const options = { subresource: 'status', fieldManager: 'latchkey-operator' };
    simulation.api.patch(isKey ? keys : tokens, key, { status: earlier }, options);
  }
  simulation.crash();
  return simulation;
}

const described = ({ status }: CredentialRecord): boolean =>
  status.subject === 'alice' &&
  status.keyID === status.credentialHash?.slice(0, 16) &&
  status.scope === '(everything)' &&
  status.state === 'Ready';

it('what an earlier release issued is described for people, a few a second, and stays what it is', async () => {
  const simulation = await upgraded();
  const held = simulation.records().map((record) => simulation.heldHash(record));
  const writes = () => simulation.api.changes.filter(({ plural }) => [keys, tokens].includes(plural)).length;
  const before = writes();

  await simulation.runUntilIdle();

  expect(writes() - before).toBe(rate);
  for (let second = 1; second < objects / rate; second++) {
    simulation.clock.advance(1_000);
    await simulation.runUntilIdle();
    expect(writes() - before).toBeLessThanOrEqual(rate * (second + 1));
  }
  const records = simulation.records();
  expect(records.map(described)).toEqual(records.map(() => true));
  expect(writes() - before).toBe(objects);
  expect(records.map((record) => simulation.heldHash(record))).toEqual(held);
  expect(new Set(records.map(({ status }) => status.serial))).toEqual(new Set([1]));
  const [token] = records.filter(({ kind }) => kind === 'DirectClusterEndpointToken');
  expect(token?.status.audiences).toEqual(['https://latchkey.example.com/clusters']);
  expect(token?.status.signingKeyID).toMatch(/^[\w-]{43}$/);
});
