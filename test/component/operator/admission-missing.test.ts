import { beforeEach, describe, expect, it } from 'vitest';
import type { CredentialRecord } from '../../../src/credentials/record.ts';
import { Simulation } from './simulation.ts';

const keys = 'ownedaccesskeys';
const tokens = 'directclusterendpointtokens';

let simulation: Simulation;
beforeEach(async () => {
  simulation = new Simulation([]);
  await simulation.runUntilIdle();
});

const recordOf = (name: string): CredentialRecord => {
  const found = simulation.records().find(({ key }) => key === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};
const readyOf = ({ conditions }: CredentialRecord): string => {
  const { status, reason } = conditions.find(({ type }) => type === 'Ready') ?? {};
  return `${status} ${reason}`;
};

/** Lets the controllers look again and again for so many minutes. */
async function pass(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    for (const part of [0, 1]) {
      simulation.deliver();
      await simulation.work();
      simulation.clock.advance(30_000 + part);
    }
  }
  simulation.deliver();
}

const waiting = 'False AdmissionMissing';

describe('while an admission policy is missing', () => {
  it('a thousand objects wait, and each is written once', async () => {
    const count = 1000;
    simulation.missAdmission(true);
    for (let index = 0; index < count; index++) {
      simulation.create(
        index % 2 === 0 ? keys : tokens,
        `waiting-${index}`,
        index % 2 === 0 ? { user: 'alice' } : {},
      );
    }
    const created = simulation.api.changes.length;

    await pass(5);

    expect(simulation.api.changes.length - created).toBe(count);
    expect(new Set(simulation.records().map(readyOf))).toEqual(new Set([waiting]));
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['key', keys, { user: 'alice' }],
    ['key by its hash', keys, { user: 'alice', key: `sha256:${'ab'.repeat(32)}` }],
    ['key in a Secret', keys, { user: 'alice', secretRef: { namespace: 'default', name: 's' } }],
    ['token', tokens, {}],
    ['token in a Secret', tokens, { secretRef: { namespace: 'default', name: 's' } }],
  ])('nothing is made for a new %s, and it is confirmed once all are back', async (_, plural, spec) => {
    simulation.missAdmission(true);
    simulation.create(plural, 'new', spec);
    await pass(2);
    const record = recordOf('new');
    expect(readyOf(record)).toBe(waiting);
    expect(record.status).toMatchObject({ serial: 0 });
    expect(record.status.credentialHash).toBeUndefined();
    expect(simulation.heldHash(record)).toBe(spec['key'] === undefined ? undefined : 'ab'.repeat(32));
    expect(simulation.liveness(record).live).toBe(false);

    simulation.missAdmission(false);
    await simulation.runUntilIdle();

    expect(readyOf(recordOf('new'))).toBe('True Issued');
    expect(simulation.liveness(recordOf('new')).live).toBe(true);
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['key', keys, { user: 'alice' }],
    ['token', tokens, {}],
  ])('a confirmed %s is not written, and works', async (_, plural, spec) => {
    simulation.create(plural, 'old', spec);
    await simulation.runUntilIdle();
    const before = recordOf('old');
    simulation.missAdmission(true);
    simulation.crash();
    await pass(5);
    expect(recordOf('old')).toEqual(before);
    expect(simulation.liveness(before).live).toBe(true);
  });

  it('a rotation that is asked for waits, and the key works until then', async () => {
    simulation.create(keys, 'rotated', { user: 'alice' });
    await simulation.runUntilIdle();
    const { status } = recordOf('rotated');
    simulation.missAdmission(true);
    simulation.edit(keys, 'rotated', {
      metadata: { annotations: { 'management.platform.sh/rotate': 'now' } },
    });
    await pass(2);
    const record = recordOf('rotated');
    expect(record.status.credentialHash).toBe(status.credentialHash);
    expect(simulation.heldHash(record)).toBe(status.credentialHash);
    expect(readyOf(record)).toBe('True Issued');
    simulation.missAdmission(false);
    await simulation.runUntilIdle();
    expect(recordOf('rotated').status.serial).toBe(2);
  });

  it('a changed spec waits, grants nothing, and is right again at once when the change is taken back', async () => {
    const scope = { clusters: [{ cluster: 'a' }] };
    simulation.create(keys, 'changed', { user: 'alice', scope });
    await simulation.runUntilIdle();
    const { status } = recordOf('changed');
    simulation.missAdmission(true);
    simulation.edit(keys, 'changed', { spec: { scope: null } });
    await pass(2);
    expect(readyOf(recordOf('changed'))).toBe(waiting);
    const said = { scope: '(everything)', state: 'Waiting (AdmissionMissing)' };
    expect(recordOf('changed').status).toEqual({ ...status, ...said, active: false });
    expect(simulation.liveness(recordOf('changed')).live).toBe(false);
    simulation.edit(keys, 'changed', { spec: { scope } });
    await pass(2);
    expect(readyOf(recordOf('changed'))).toBe('True Issued');
    expect(simulation.liveness(recordOf('changed')).live).toBe(true);
  });

  it('an end is an end', async () => {
    simulation.create(keys, 'ending', { user: 'alice', ttl: 3600 });
    await simulation.runUntilIdle();
    simulation.missAdmission(true);
    simulation.clock.advance(3_600_000);
    await pass(2);
    expect(readyOf(recordOf('ending'))).toBe('False Expired');
  });
});

describe('after a time without policies in which no operator led', () => {
  const hash = (digits: string) => `sha256:${digits.repeat(32)}`;

  it('what was made, changed or widened in it is refused by each later operator, and all else lives', async () => {
    for (const [index, name] of ['untouched', 'taken', 'longer', 'stopped', 'narrowed'].entries())
      simulation.create(keys, name, { user: 'alice', ttl: 600, key: hash(`a${index}`) });
    simulation.edit(keys, 'stopped', { spec: { disabled: true } });
    await simulation.runUntilIdle();
    const until = simulation.resourceVersion();
    simulation.create(keys, 'made', { user: 'alice', key: hash('b0') });
    simulation.edit(keys, 'taken', { spec: { key: hash('b1') } });
    simulation.edit(keys, 'longer', { spec: { ttl: 6_000 } });
    simulation.edit(keys, 'stopped', { spec: { disabled: false } });
    simulation.edit(keys, 'narrowed', { spec: { ttl: 60 } });
    const attacked = ['made', 'taken', 'longer', 'stopped'];
    const states = () => attacked.map((name) => readyOf(recordOf(name)));

    simulation.crash(0, undefined, until);
    expect(simulation.isSettled()).toBe(false);
    await simulation.runUntilIdle();
    expect(simulation.isSettled()).toBe(true);
    expect(states()).toEqual(attacked.map(() => 'False RequesterUnknown'));
    for (const name of attacked) expect(simulation.liveness(recordOf(name)).live).toBe(false);
    for (const name of ['untouched', 'narrowed']) expect(simulation.liveness(recordOf(name)).live).toBe(true);

    simulation.crash();
    await simulation.runUntilIdle();
    expect(states()).toEqual(attacked.map(() => 'False RequesterUnknown'));
    simulation.edit(keys, 'longer', { spec: { description: 'mine' } });
    await simulation.runUntilIdle();
    expect(readyOf(recordOf('longer'))).toBe('False RequesterUnknown');
    simulation.edit(keys, 'longer', { spec: { ttl: 500 } });
    await simulation.runUntilIdle();
    expect(readyOf(recordOf('longer'))).toBe('True Issued');
  });
});
