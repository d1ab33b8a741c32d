import { expect, it } from 'vitest';
import type { StoredObject } from './memory-api.ts';
import { Simulation } from './simulation.ts';

const keys = 'ownedaccesskeys';
const tokens = 'directclusterendpointtokens';

const readyOf = ({ status }: StoredObject) =>
  (status?.['conditions'] as undefined | { type: string; status: string; reason: string }[])?.find(
    ({ type }) => type === 'Ready',
  );

it('a process that begins while the definition of keys is missing takes nothing from tokens below them, and issues the others', async () => {
  const simulation = new Simulation([]);
  simulation.create(keys, 'parent', { user: 'alice' });
  await simulation.runUntilIdle();
  simulation.create(tokens, 'child', { accessKey: 'parent', ttl: 86_400 });
  await simulation.runUntilIdle();
  const issued = structuredClone(simulation.api.find(tokens, 'child'));
  expect(issued && readyOf(issued)?.status).toBe('True');

  simulation.crash(0, keys);
  simulation.create(tokens, 'next', { accessKey: 'parent', ttl: 86_400 });
  simulation.create(tokens, 'alone', { ttl: 86_400 });
  await simulation.runUntilIdle();
  expect(simulation.api.find(tokens, 'child')).toEqual(issued);
  expect(readyOf(simulation.api.find(tokens, 'next')!)?.reason).toBe('Pending');
  expect(readyOf(simulation.api.find(tokens, 'alone')!)?.status).toBe('True');

  simulation.define(keys);
  await simulation.runUntilIdle();
  expect(readyOf(simulation.api.find(tokens, 'next')!)?.status).toBe('True');
  expect(simulation.api.find(tokens, 'child')).toEqual(issued);
});

it('a process that begins while the definition of tokens is missing issues keys, and tokens once it is there', async () => {
  const simulation = new Simulation([]);
  simulation.crash(0, tokens);
  simulation.create(keys, 'parent', { user: 'alice' });
  await simulation.runUntilIdle();
  expect(readyOf(simulation.api.find(keys, 'parent')!)?.status).toBe('True');
  simulation.create(tokens, 'child', { accessKey: 'parent', ttl: 86_400 });
  simulation.define(tokens);
  await simulation.runUntilIdle();
  expect(readyOf(simulation.api.find(tokens, 'child')!)?.status).toBe('True');
});

it('a key is not issued while others of its kind are not known, for one of them may hold the same', async () => {
  const simulation = new Simulation([]);
  simulation.crash(0, keys);
  simulation.create(keys, 'early', { user: 'alice' });
  await simulation.runUntilIdle();
  expect(readyOf(simulation.api.find(keys, 'early')!)?.reason).toBe('Pending');
  simulation.define(keys);
  await simulation.runUntilIdle();
  expect(readyOf(simulation.api.find(keys, 'early')!)?.status).toBe('True');
});
