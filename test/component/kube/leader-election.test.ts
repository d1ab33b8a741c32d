import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { LeaderElector } from '../../../src/kube/leader/leader-election.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';
import { silentLogger } from '../../../src/logger.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeLeases } from '../../fakes/fake-leases.ts';

/** One candidate, and what it has been through. */
class Candidate {
  readonly elector: LeaderElector;
  readonly stop = new AbortController();
  readonly terms: { signal: AbortSignal; finish: () => void }[] = [];
  readonly ended: Promise<void>;
  settled = false;
  /** Finish work as soon as the signal asks for it. */
  obeys = true;

  /** The annotations of the lease. */
  says: Record<string, string> = {};

  constructor(identity: string, clock: FakeClock, leases: FakeLeases, random: () => number = () => 0.5) {
    const annotate = ({ metadata: { resourceVersion } }: Lease) => ({ ...this.says, at: resourceVersion });
    const shared = { namespace: 'system', name: 'leader', identity, clock, random, log: silentLogger };
    const options = { ...shared, annotate };
    this.elector = new LeaderElector({ client: leases, ...options });
    this.ended = this.elector
      .run(this.stop.signal, (signal) => this.#lead(signal))
      .finally(() => (this.settled = true));
  }

  get leads(): boolean {
    return this.elector.mayWrite();
  }

  get term() {
    return this.terms.at(-1)!;
  }

  #lead(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.terms.push({ signal, finish: resolve });
      signal.addEventListener('abort', () => this.obeys && resolve());
    });
  }
}

let clock: FakeClock;
let leases: FakeLeases;
const spec = () => leases.lease?.spec;

beforeEach(() => {
  clock = new FakeClock(Date.UTC(2026, 10, 21, 10));
  leases = new FakeLeases(clock);
});

const candidate = async (identity: string) => {
  const made = new Candidate(identity, clock, leases);
  for (let n = 0; n < 5; n++) await clock.settle();
  return made;
};
/** The lease as another process has written it. */
const heldByOther = (lease: Partial<NonNullable<Lease['spec']>> = {}, resourceVersion = '1') => {
  leases.lease = {
    metadata: { name: 'leader', uid: 'u', resourceVersion, creationTimestamp: '' },
    spec: { holderIdentity: 'old', leaseDurationSeconds: 15, ...lease },
  };
};
const pass = (ms: number) => clock.advanceAsync(ms, 100);

describe('taking the lease', () => {
  it('creates it where there is none', async () => {
    const a = await candidate('a');
    expect(a.leads).toBe(true);
    expect(spec()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-11-21T10:00:00.000000Z',
      renewTime: '2026-11-21T10:00:00.000000Z',
      leaseTransitions: 0,
    });
  });

  it('renews it within the retry period, and keeps the time of its acquisition', async () => {
    const a = await candidate('a');
    await pass(60_000);
    expect(a.terms.length).toBe(1);
    expect(spec()).toMatchObject({ acquireTime: '2026-11-21T10:00:00.000000Z', leaseTransitions: 0 });
    expect(clock.now() - Date.parse(spec()!.renewTime!)).toBeLessThanOrEqual(2_000);
    expect(leases.requests.filter((verb) => verb !== 'replace')).toEqual(['get', 'create']);
  });

  it('keeps fields of others', async () => {
    await candidate('a');
    leases.lease = { ...leases.lease!, spec: { ...spec(), preferredHolder: 'x' } as never };
    leases.lease.metadata.labels = { other: 'label' };
    leases.lease.metadata.resourceVersion = '77';
    await pass(4_000);
    expect(spec()).toMatchObject({ preferredHolder: 'x', holderIdentity: 'a' });
    expect(leases.lease.metadata.labels).toEqual({ other: 'label' });
  });

  it('has it say more with each renewal, and finds what the leader before has left there', async () => {
    const a = await candidate('a');
    const requests = leases.requests.length;
    expect(a.elector.annotation('seen')).toBeUndefined();
    a.says = { seen: 'one' };
    await pass(4_000);
    expect(leases.lease?.metadata.annotations).toMatchObject({ seen: 'one' });
    const before = leases.lease?.metadata.resourceVersion;
    a.says = {};
    await pass(2_000);
    expect(leases.lease?.metadata.annotations).toEqual({ seen: 'one', at: before });
    expect(leases.requests.slice(requests)).toEqual(leases.requests.slice(requests).map(() => 'replace'));
    a.stop.abort();
    await a.ended;
    const b = await candidate('b');
    expect(b.leads).toBe(true);
    expect(b.elector.annotation('seen')).toBe('one');
  });

  it('makes a lease that was deleted again with what it said', async () => {
    const a = await candidate('a');
    a.says = { seen: 'one' };
    await pass(4_000);
    expect(a.elector.isNewLease).toBe(true);
    const standby = await candidate('b');
    a.stop.abort();
    leases.lease = undefined;
    await a.ended;
    await pass(20_000);
    expect(standby.leads).toBe(true);
    expect(standby.elector.annotation('seen')).toBe('one');
  });

  it('tells whether anyone had it before', async () => {
    const a = await candidate('a');
    a.stop.abort();
    await a.ended;
    const b = await candidate('b');
    expect([b.leads, b.elector.isNewLease]).toEqual([true, false]);
    b.stop.abort();
    await b.ended;
    leases.lease = undefined;
    const c = await candidate('c');
    expect([c.leads, c.elector.isNewLease, c.elector.annotation('seen')]).toEqual([true, true, undefined]);
  });

  it('waits a whole lease duration after the last change that it saw, then counts the transition', async () => {
    heldByOther({ leaseTransitions: 4 });
    const b = await candidate('b');
    for (let revision = 1; revision <= 5; revision++) {
      await pass(10_000);
      heldByOther({ leaseTransitions: 4 }, `old-${revision}`);
    }
    await pass(14_900);
    expect(b.leads).toBe(false);
    await pass(2_100);
    expect(b.leads).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 5 });
  });

  it.each([
    ['at the very moment at which it is free, and not up to a retry period later', {}, 14_900, 100],
    ['after the longer lease duration of the present holder', { leaseDurationSeconds: 60 }, 59_000, 3_000],
    [
      'never by the times in it, however old they are',
      { renewTime: '2001-01-01T00:00:00.000000Z' },
      14_000,
      3_000,
    ],
  ])('takes that of another %s', async (_when, lease, heldMs, thenMs) => {
    heldByOther(lease);
    const b = await candidate('b');
    await pass(heldMs);
    expect(b.leads).toBe(false);
    await pass(thenMs);
    expect(b.leads).toBe(true);
  });

  it('takes one that is deleted only when its holder has been silent for its duration', async () => {
    heldByOther();
    const b = await candidate('b');
    await pass(5_000);
    leases.lease = undefined;
    await pass(9_900);
    expect(b.leads).toBe(false);
    await pass(2_100);
    expect(b.leads).toBe(true);
  });

  it('lets one of two win that try at the same moment', async () => {
    leases.delays = () => ({ acts: 50, answers: 100 });
    const [a, b] = [await candidate('a'), await candidate('b')];
    await pass(1_000);
    expect([a.leads, b.leads].filter(Boolean).length).toBe(1);
  });
});

describe('losing the lease', () => {
  it('may not write after the deadline when the API server hangs, and is told so at that moment', async () => {
    const a = await candidate('a');
    await pass(2_000);
    leases.delays = () => undefined;
    const renewedAt = Date.parse(spec()!.renewTime!);
    await clock.advanceAsync(renewedAt + 9_999 - clock.now(), 1);
    expect([a.leads, a.term.signal.aborted]).toEqual([true, false]);
    await clock.advanceAsync(2, 1);
    expect([a.leads, a.term.signal.aborted]).toEqual([false, true]);
  });

  it('begins no attempt with less than half a second left', async () => {
    // It pauses for 1,600 ms each time, so that an attempt would begin with 400 ms left.
    const a = new Candidate('a', clock, leases, () => 0);
    await pass(2_000);
    const deadline = Date.parse(spec()!.renewTime!) + 10_000;
    leases.refusal = [500, 'InternalError'];
    await clock.advanceAsync(deadline - 500 - clock.now(), 50);
    const asked = leases.requests.length;
    await clock.advanceAsync(490, 10);
    expect([a.leads, leases.requests.length - asked]).toEqual([true, 0]);
    await clock.advanceAsync(20, 10);
    expect([a.leads, a.term.signal.aborted]).toEqual([false, true]);
  });

  it('keeps leading through failures shorter than the deadline', async () => {
    const a = await candidate('a');
    leases.refusal = [500, 'InternalError'];
    await pass(8_000);
    leases.refusal = undefined;
    await pass(8_000);
    expect([a.leads, a.terms.length, a.term.signal.aborted]).toEqual([true, 1, false]);
  });

  it('stops at once when another holds the lease', async () => {
    const a = await candidate('a');
    leases.lease!.spec!.holderIdentity = 'thief';
    leases.lease!.metadata.resourceVersion = '99';
    await pass(2_100);
    expect([a.leads, a.term.signal.aborted]).toEqual([false, true]);
  });

  it('stands again only when its work has ended', async () => {
    const a = await candidate('a');
    a.obeys = false;
    leases.refusal = [500, 'InternalError'];
    await pass(12_000);
    expect(a.term.signal.aborted).toBe(true);
    leases.refusal = undefined;
    await pass(30_000);
    expect([a.leads, a.terms.length]).toEqual([false, 1]);
    a.term.finish();
    await pass(2_100);
    expect([a.leads, a.terms.length]).toEqual([true, 2]);
  });

  it('makes the lease again when somebody deleted it', async () => {
    const a = await candidate('a');
    leases.lease = undefined;
    await pass(2_100);
    expect([a.leads, a.terms.length, spec()?.holderIdentity]).toEqual([true, 1, 'a']);
  });

  it('counts from before the request, not from its answer', async () => {
    const a = await candidate('a');
    leases.delays = () => ({ acts: 4_000, answers: 4_900 });
    await pass(1_900);
    leases.delays = () => undefined;
    const sentAt = clock.now();
    await pass(4_900);
    expect(a.leads).toBe(true);
    await clock.advanceAsync(sentAt + 10_000 - clock.now(), 10);
    expect(a.leads).toBe(false);
  });
});

describe('a standby', () => {
  /** Lists the requests, without the renewals of the leader. */
  const asked = () => leases.requests.filter((verb) => verb !== 'replace');
  const standby = async () => {
    const [a, b] = [await candidate('a'), await candidate('b')];
    leases.requests.length = 0;
    return { a, b };
  };

  it('asks for nothing while the leader renews its lease', async () => {
    const { b } = await standby();
    await pass(300_000);
    expect([asked(), b.leads]).toEqual([[], false]);
  });

  it('leads as soon as the lease is given back', async () => {
    const { a, b } = await standby();
    a.stop.abort();
    await a.ended;
    for (let n = 0; n < 5; n++) await clock.settle();
    expect([b.leads, asked()]).toEqual([true, ['get']]);
  });

  it.each([
    ['brings nothing more, unnoticed', { isMute: true }],
    ['brings everything late', { lateness: () => 60_000 }],
    ['is cut at each event', { lateness: () => undefined }],
    ['is refused', { watchRefusal: [403, 'Forbidden'] }],
  ])('asks instead, and not often, while its watch %s', async (_what, fault) => {
    Object.assign(leases, fault);
    const { a, b } = await standby();
    await pass(300_000);
    expect(b.leads).toBe(false);
    // A GET and a watch each time.
    expect(asked().length).toBeLessThanOrEqual(2 * (300 / 4));
    a.stop.abort();
    await pass(4_100);
    expect(b.leads).toBe(true);
  });

  it('watches again at once when the server ends a watch that was open for some time', async () => {
    const { a, b } = await standby();
    await pass(60_000);
    leases.cutWatches();
    await pass(500);
    expect(asked()).toEqual(['get', 'watch']);
    a.stop.abort();
    await pass(500);
    expect(b.leads).toBe(true);
  });

  it('takes over from a leader that dies behind a silent watch at most two periods late', async () => {
    leases.isMute = true;
    heldByOther();
    const b = await candidate('b');
    for (let revision = 1; revision <= 9; revision++) {
      await pass(2_000);
      heldByOther({}, `9${revision}`);
    }
    await pass(14_900);
    expect(b.leads).toBe(false);
    await pass(4_200);
    expect(b.leads).toBe(true);
  });
});

describe('an API server that does not answer', () => {
  it.each([
    ['a leader', 'a'],
    ['a standby', 'b'],
  ])(
    'is noticed by %s, also while a request hangs, and forgotten with the next answer',
    async (who, name) => {
      const candidates = { a: await candidate('a'), b: await candidate('b') };
      const { elector } = candidates[name as 'a' | 'b'];
      await pass(4_000);
      expect(elector.outage(2_000)).toBeUndefined();
      leases.delays = () => undefined;
      await pass(15_000);
      expect(elector.outage(15_000)).toBeUndefined();
      // A standby asks for what its watch has not brought after two periods.
      await pass(who === 'a leader' ? 2_100 : 4_100);
      expect(elector.outage(15_000)).toMatch(/^for 1[5-7] s \(ERR_KUBE_TIMEOUT\)$/);
      leases.delays = () => ({ acts: 0, answers: 0 });
      await pass(7_000);
      expect(elector.outage(0)).toBeUndefined();
    },
  );
});

it('says that the API server is back, once, when an attempt succeeds after some seconds without success', async () => {
  let recoveries = 0;
  const options = { client: leases, namespace: 'system', name: 'leader', identity: 'a', log: silentLogger };
  const onRecovery = () => void recoveries++;
  const elector = new LeaderElector({ ...options, clock, random: () => 0.5, onRecovery });
  const stop = new AbortController();
  const running = elector.run(
    stop.signal,
    (signal) => new Promise<void>((end) => signal.addEventListener('abort', () => end())),
  );
  await pass(10_000);
  leases.refusal = [500, 'InternalError'];
  await pass(6_000);
  expect(recoveries).toBe(0);
  leases.refusal = undefined;
  await pass(10_000);
  expect(recoveries).toBe(1);
  leases.refusal = [500, 'InternalError'];
  await pass(2_500);
  leases.refusal = undefined;
  await pass(10_000);
  expect(recoveries).toBe(1);
  stop.abort();
  await pass(1_000);
  await running;
});

describe('stopping', () => {
  it('gives the lease back, so that the next takes over', async () => {
    const [a, b] = [await candidate('a'), await candidate('b')];
    a.stop.abort();
    await a.ended;
    expect(spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(a.leads).toBe(false);
    await pass(2_000);
    expect(b.leads).toBe(true);
  });

  it('keeps the lease, and may write, until the work has ended', async () => {
    const [a, b] = [await candidate('a'), await candidate('b')];
    a.obeys = false;
    a.stop.abort();
    expect(a.term.signal.aborted).toBe(true);
    await pass(60_000);
    expect([a.leads, b.leads, a.settled]).toEqual([true, false, false]);
    a.term.finish();
    await a.ended;
    await pass(2_000);
    expect([a.leads, b.leads]).toEqual([false, true]);
  });

  it('gives back a lease that it won while it was told to stop, without any work', async () => {
    leases.delays = () => ({ acts: 100, answers: 200 });
    const a = await candidate('a');
    await pass(250);
    a.stop.abort();
    await pass(500);
    await a.ended;
    expect([a.terms.length, spec()?.holderIdentity]).toEqual([0, '']);
  });

  it('writes nothing when it never led', async () => {
    await candidate('a');
    const b = await candidate('b');
    leases.requests.length = 0;
    b.stop.abort();
    await b.ended;
    expect(leases.requests).toEqual([]);
  });

  it('gives it back after a renewal that was under way, not beside it', async () => {
    const a = await candidate('a');
    leases.delays = () => ({ acts: 500, answers: 1_000 });
    await pass(2_100);
    a.term.finish();
    await pass(3_000);
    await a.ended;
    expect(spec()?.holderIdentity).toBe('');
  });

  it('leaves the lease to run out when it cannot be given back', async () => {
    const a = await candidate('a');
    leases.refusal = [500, 'InternalError'];
    a.stop.abort();
    await a.ended;
    expect([a.leads, spec()?.holderIdentity]).toEqual([false, 'a']);
  });

  it('ends when the work ends by itself, and gives the lease back', async () => {
    const a = await candidate('a');
    a.term.finish();
    await a.ended;
    expect(spec()?.holderIdentity).toBe('');
  });

  it('passes on what the work throws, after giving the lease back', async () => {
    const options = { client: leases, namespace: 'system', name: 'leader', identity: 'a' };
    const elector = new LeaderElector({ ...options, clock, random: () => 0.5, log: silentLogger });
    const failure = new Error('work');
    const running = elector.run(new AbortController().signal, () => {
      throw failure;
    });
    await expect(running).rejects.toBe(failure);
    expect(spec()?.holderIdentity).toBe('');
  });
});

describe('clocks that jump', () => {
  it.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('changes nothing when the wall clock jumps %s', async (_direction, jump) => {
    const [a, b] = [await candidate('a'), await candidate('b')];
    clock.set(clock.now() + jump);
    await pass(60_000);
    expect([a.leads, a.terms.length, b.terms.length]).toEqual([true, 1, 0]);
  });

  it('writes nothing after a jump forward until its lease is renewed: the machine may have slept', async () => {
    const a = await candidate('a');
    clock.set(clock.now() + 9_999);
    expect(a.leads).toBe(true);
    clock.set(clock.now() + 1);
    expect(a.leads).toBe(false);
    await pass(2_000);
    expect([a.leads, a.terms.length, a.term.signal.aborted]).toEqual([true, 1, false]);
  });

  it('loses its lease when no renewal succeeds after the jump', async () => {
    const a = await candidate('a');
    leases.refusal = [500, 'InternalError'];
    clock.set(clock.now() + 3_600_000);
    await pass(2_000);
    expect([a.leads, a.term.signal.aborted]).toEqual([false, true]);
  });

  it('begins a new term when another led while the machine slept, although the lease is free again', async () => {
    const a = await candidate('a');
    const { metadata } = leases.lease!;
    leases.lease = { metadata: { ...metadata, resourceVersion: '99' }, spec: { holderIdentity: '' } };
    clock.set(clock.now() + 3_600_000);
    await pass(2_000);
    expect(a.terms[0]?.signal.aborted).toBe(true);
    await pass(2_000);
    expect([a.leads, a.terms.length]).toEqual([true, 2]);
  });
});

describe('durations', () => {
  const elector = (durations: object) =>
    new LeaderElector({
      ...{ client: leases, namespace: 's', name: 'l', identity: 'a' },
      ...{ clock, random: () => 0, log: silentLogger },
      ...durations,
    });

  it.each([
    [{ leaseDurationMs: 10_000, renewDeadlineMs: 10_000 }, 'leaseDurationMs must be above renewDeadlineMs'],
    [{ renewDeadlineMs: 4_000 }, 'renewDeadlineMs must be above twice retryPeriodMs'],
    [{ renewPeriodMs: 5_000 }, 'leaseDurationMs must be above three times renewPeriodMs'],
  ])('refuses %j', (durations, message) => {
    expect(() => elector(durations)).toThrow(message);
  });
});

describe('safety', () => {
  it('never lets two write at once, whatever requests and clocks do, and lets one lead when all is well again', async () => {
    const fate = fc.oneof(
      { weight: 5, arbitrary: fc.constant({ acts: 0, answers: 0 }) },
      { weight: 2, arbitrary: fc.record({ acts: fc.nat(8_000), answers: fc.nat(16_000) }) },
      { weight: 2, arbitrary: fc.constant(undefined) },
    );
    const lateness = fc.oneof(fc.constant(0), fc.nat(20_000), fc.constant(undefined));
    const disturbance = fc.record({ who: fc.nat(2), jump: fc.integer({ min: -1e7, max: 1e7 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 10, maxLength: 80 }),
        fc.array(disturbance, { maxLength: 10 }),
        fc.array(fc.integer({ min: 0, max: 999 }), { minLength: 7, maxLength: 7 }),
        fc.array(lateness, { minLength: 1, maxLength: 20 }),
        async (fates, disturbances, noise, latenesses) => {
          const shared = new FakeClock();
          const server = new FakeLeases(shared);
          let event = 0;
          server.lateness = () => latenesses[event++ % latenesses.length];
          let request = 0;
          server.delays = () => fates[request++ % fates.length];
          let asked = 0;
          const random = () => noise[asked++ % noise.length]! / 1000;
          const candidates = ['a', 'b', 'c'].map((name) => new Candidate(name, shared, server, random));
          for (let step = 0; step < 400; step++) {
            await shared.advanceAsync(250, 125);
            const { who, jump } = disturbances[step % 40] ?? { who: 3, jump: 0 };
            shared.set(shared.now() + jump);
            if (step === 200) candidates[who]?.stop.abort();
            expect(candidates.filter(({ leads }) => leads).length).toBeLessThanOrEqual(1);
          }
          server.delays = () => ({ acts: 0, answers: 0 });
          await shared.advanceAsync(60_000, 500);
          expect(candidates.filter(({ leads }) => leads).length).toBe(1);
          for (const { stop } of candidates) stop.abort();
          await shared.advanceAsync(20_000, 500);
          await Promise.all(candidates.map(({ ended }) => ended));
        },
      ),
      { numRuns: 40, endOnFailure: true },
    );
  });
});
