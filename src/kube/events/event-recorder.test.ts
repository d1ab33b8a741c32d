import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { type Action, type KubeError, kubeErrorFromStatus, unreachable } from '../kube-error.ts';
import { type EventInput, EventRecorder, type EventRecorderOptions } from './event-recorder.ts';

interface Sent {
  readonly verb: 'create' | 'patch';
  readonly name: string;
  readonly body: Record<string, never>;
}

const action: Action = { verb: 'POST', path: '/events' };

/** Takes events, or refuses them as it is told. */
class FakeEvents {
  readonly sent: Sent[] = [];
  readonly options: object[] = [];
  readonly refusals: (Error | undefined)[] = [];
  gate: Promise<void> = Promise.resolve();

  async create(_resource: unknown, body: object, options: object): Promise<never> {
    const { name } = (body as { metadata: { name: string } }).metadata;
    return this.#take({ verb: 'create', name, body: body as never }, options);
  }

  async mergePatch(
    _resource: unknown,
    { name }: { name: string },
    body: object,
    options: object,
  ): Promise<never> {
    return this.#take({ verb: 'patch', name, body: body as never }, options);
  }

  async #take(sent: Sent, options: object): Promise<never> {
    await this.gate;
    const refusal = this.refusals.shift();
    if (refusal !== undefined) throw refusal;
    this.sent.push(sent);
    this.options.push(options);
    return {} as never;
  }
}

let clock: FakeClock;
let api: FakeEvents;
let recorder: EventRecorder;
let dropped: number;

beforeEach(() => {
  clock = new FakeClock();
  api = new FakeEvents();
  dropped = 0;
  recorder = make();
});

function make(options: Partial<EventRecorderOptions> = {}): EventRecorder {
  let drawn = 0;
  return new EventRecorder({
    client: api,
    clock,
    log: silentLogger,
    random: () => (drawn++ % 997) / 1000,
    reportingController: 'latchkey-operator',
    reportingInstance: 'pod-1',
    onDropped: () => dropped++,
    ...options,
  });
}

const event = (name = 'a', more: Partial<EventInput> = {}): EventInput => ({
  regarding: { apiVersion: 'v1', kind: 'ConfigMap', name, namespace: 'ns', uid: `uid-${name}` },
  type: 'Normal',
  reason: 'Issued',
  action: 'Issue',
  note: 'issued',
  ...more,
});
const notes = () => api.sent.map(({ body }) => (body as { note?: string }).note);
const settled = async () => {
  for (let n = 0; n < 20; n++) await clock.settle();
};

describe('one event', () => {
  it('is written in the background, without asking whether this process leads', async () => {
    recorder.record(event());
    await settled();
    expect(api.sent.map(({ verb, name }) => [verb, name.split('.')[0]])).toEqual([['create', 'a']]);
    expect(api.options).toEqual([{ timeoutMs: 5_000, unguarded: true, namespace: 'ns' }]);
  });
});

describe('series', () => {
  it('turns repetitions into one update of the first event', async () => {
    recorder.record(event());
    await settled();
    for (let n = 0; n < 5; n++) recorder.record(event());
    await settled();
    expect(api.sent.length).toBe(1);
    await clock.advanceAsync(10_000);
    await settled();
    const [first, update] = api.sent;
    expect(update).toEqual({
      verb: 'patch',
      name: first!.name,
      body: { series: { count: 6, lastObservedTime: '2026-01-01T00:00:00.000000Z' } },
    });
  });

  it('counts repetitions into an event that still waits', async () => {
    for (let n = 0; n < 3; n++) recorder.record(event());
    await recorder.drain();
    expect(api.sent.at(-1)?.body).toMatchObject({ series: { count: 3 } });
  });

  it('does not lose a repetition that came while the event was on its way', async () => {
    let open = () => {};
    api.gate = new Promise((resolve) => (open = resolve));
    recorder.record(event());
    await settled();
    recorder.record(event());
    open();
    await settled();
    await clock.advanceAsync(10_000);
    await settled();
    expect(api.sent.map(({ verb }) => verb)).toEqual(['create', 'patch']);
  });

  it('has one cause: another note is another event, with a count of its own', async () => {
    for (const note of ['serial 2', 'serial 3', 'serial 3']) recorder.record(event('a', { note }));
    await recorder.drain();
    const told = api.sent.map(({ body }) => {
      const { note, series } = body as { note?: string; series?: { count: number } };
      return [note, series?.count];
    });
    expect(told).toEqual([
      ['serial 2', undefined],
      ['serial 3', undefined],
      [undefined, 2],
    ]);
    expect(api.sent[2]?.name).toBe(api.sent[1]?.name);
  });

  it('is right after a first try that seemed to fail, and went through before it happened again', async () => {
    let lose = (_: Error) => {};
    const lost = new Promise<void>((_, reject) => (lose = reject));
    api.gate = lost;
    recorder.record(event());
    await settled();
    recorder.record(event());
    api.gate = Promise.resolve();
    api.refusals.push(kubeErrorFromStatus(action, 409, { kind: 'Status', reason: 'AlreadyExists' }));
    lose(unreachable(action, new Error('reset')));
    await settled();
    await clock.advanceAsync(20_000, 500);
    await settled();
    expect(api.sent.map(({ verb, body }) => [verb, body])).toEqual([
      ['patch', { series: { count: 2, lastObservedTime: '2026-01-01T00:00:00.000000Z' } }],
    ]);
  });

  it('starts again after a long pause', async () => {
    recorder.record(event());
    await settled();
    clock.advance(6 * 60_000);
    recorder.record(event());
    await settled();
    expect(api.sent.map(({ verb }) => verb)).toEqual(['create', 'create']);
    expect(api.sent[0]!.name).not.toBe(api.sent[1]!.name);
  });

  it('forgets the oldest of very many series', async () => {
    recorder = make({ stormBudget: { burst: 10_000, rate: 1 }, maxWaiting: 10_000 });
    for (let n = 0; n <= 4_096; n++) recorder.record(event(`key-${n}`));
    await recorder.drain();
    recorder.record(event('key-0'));
    recorder.record(event('key-4096'));
    await recorder.drain();
    expect(api.sent.slice(-2).map(({ verb, name }) => `${verb} ${name.split('.')[0]}`)).toEqual([
      'create key-0',
      'patch key-4096',
    ]);
  });

  it('writes the event again when the API server has forgotten it', async () => {
    recorder.record(event());
    await settled();
    api.refusals.push(kubeErrorFromStatus(action, 404, undefined));
    recorder.record(event());
    await recorder.drain();
    expect(api.sent.map(({ verb }) => verb)).toEqual(['create', 'create']);
    expect(api.sent[1]?.body).toMatchObject({ series: { count: 2 } });
  });
});

describe('storms', () => {
  it('sums up what goes beyond the budget of a reason, in one event', async () => {
    recorder = make({ stormBudget: { burst: 3, rate: 1 } });
    for (let n = 0; n < 100; n++) recorder.record(event(`key-${n}`, { reason: 'Expired' }));
    await settled();
    expect(api.sent.length).toBe(3);
    await clock.advanceAsync(10_000);
    await settled();
    expect(api.sent.length).toBe(4);
    expect(api.sent[3]?.body).toMatchObject({
      reason: 'ManyEvents',
      regarding: { name: 'key-99' },
      note: '97 more events with reason Expired were not written one by one; the newest was about ConfigMap ns/key-99',
    });
  });

  it('leaves other reasons alone', async () => {
    recorder = make({ stormBudget: { burst: 1, rate: 1 } });
    for (const reason of ['Expired', 'Expired', 'Issued', 'Disabled']) {
      recorder.record(event(`${reason}-${Math.random()}`, { reason, note: reason }));
    }
    await settled();
    expect(notes()).toEqual(['Expired', 'Issued', 'Disabled']);
  });

  it('writes single events again when the storm is over', async () => {
    recorder = make({ stormBudget: { burst: 1, rate: 1 } });
    recorder.record(event('a'));
    recorder.record(event('b'));
    await clock.advanceAsync(10_000);
    recorder.record(event('c'));
    await settled();
    expect(notes().length).toBe(3);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('failures', () => {
  const busy = () => kubeErrorFromStatus(action, 503, undefined);

  it.each([
    ['an overloaded API server', busy()],
    ['no connection', unreachable(action, new Error('reset'))],
  ])('tries again after %s', async (_what, failure) => {
    api.refusals.push(failure, failure);
    recorder.record(event());
    await settled();
    await clock.advanceAsync(5_000, 100);
    await settled();
    expect([api.sent.length, dropped]).toEqual([1, 0]);
  });

  it('gives up after the third try and goes on with the next event', async () => {
    recorder = make({ concurrency: 1 });
    api.refusals.push(busy(), busy(), busy());
    recorder.record(event('a'));
    recorder.record(event('b'));
    await clock.advanceAsync(10_000, 100);
    await settled();
    expect([api.sent.map(({ name }) => name.split('.')[0]), dropped]).toEqual([['b'], 1]);
  });

  it('counts each time that an event happened as lost', async () => {
    api.refusals.push(kubeErrorFromStatus(action, 403, undefined));
    recorder.record(event());
    recorder.record(event());
    await settled();
    expect([api.sent.length, dropped]).toEqual([0, 2]);
  });

  it('tells once that a repetition is refused for good, and tries no more', async () => {
    recorder.record(event());
    await settled();
    recorder.record(event());
    api.refusals.push(...Array.from({ length: 5 }, () => kubeErrorFromStatus(action, 403, undefined)));
    await clock.advanceAsync(60_000, 500);
    await settled();
    expect([api.refusals.length, dropped]).toEqual([4, 1]);
  });

  it('does not repeat what is refused for good', async () => {
    api.refusals.push(kubeErrorFromStatus(action, 403, undefined));
    recorder.record(event('a'));
    recorder.record(event('b'));
    await settled();
    expect([api.sent.length, dropped]).toEqual([1, 1]);
  });

  const goingNamespace = kubeErrorFromStatus(action, 403, {
    kind: 'Status',
    reason: 'Forbidden',
    details: { causes: [{ reason: 'NamespaceTerminating' }] },
  });

  it.each<[string, KubeError]>([
    ['is being deleted', goingNamespace],
    ['is gone', kubeErrorFromStatus(action, 404, undefined)],
  ])('leaves out what happens in a namespace that %s, and counts nothing as lost', async (_, refusal) => {
    api.refusals.push(refusal);
    recorder.record(event('a'));
    await settled();
    recorder.record(event('b'));
    await settled();
    expect([api.sent.map(({ name }) => name.split('.')[0]), dropped]).toEqual([['b'], 0]);
  });

  it('counts a summary as lost there, because it is about other objects as well', async () => {
    recorder = make({ stormBudget: { burst: 1, rate: 1 } });
    for (const name of ['a', 'b', 'c']) recorder.record(event(name));
    await settled();
    api.refusals.push(goingNamespace);
    await clock.advanceAsync(10_000);
    await settled();
    expect([api.sent.length, dropped]).toEqual([1, 1]);
  });

  it('takes an event that is there already for a first try that got through', async () => {
    api.refusals.push(busy(), kubeErrorFromStatus(action, 409, { kind: 'Status', reason: 'AlreadyExists' }));
    recorder.record(event());
    await settled();
    await clock.advanceAsync(5_000, 100);
    await settled();
    expect(dropped).toBe(0);
    recorder.record(event());
    await recorder.drain();
    expect(api.sent.map(({ verb }) => verb)).toEqual(['patch']);
  });

  it('sums up what comes while too many wait, as soon as there is room, and loses none', async () => {
    const open = Promise.withResolvers<void>();
    api.gate = open.promise;
    recorder = make({ maxWaiting: 5 });
    for (let n = 0; n < 8; n++) recorder.record(event(`key-${n}`));
    await clock.advanceAsync(25_000, 500);
    recorder.record(event('key-8'));
    open.resolve();
    await clock.advanceAsync(10_000, 500);
    await settled();
    expect(api.sent.length).toBe(6);
    expect(api.sent[5]?.body).toMatchObject({
      reason: 'ManyEvents',
      note: '4 more events with reason Issued were not written one by one; the newest was about ConfigMap ns/key-8',
    });
    expect([dropped, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('writes the repetitions of an event later when too many wait', async () => {
    recorder = make({ maxWaiting: 2 });
    recorder.record(event('a'));
    await settled();
    const open = Promise.withResolvers<void>();
    api.gate = open.promise;
    for (const name of ['b', 'c', 'a']) recorder.record(event(name));
    await clock.advanceAsync(15_000, 500);
    open.resolve();
    await clock.advanceAsync(10_000, 500);
    await settled();
    expect(api.sent.map(({ verb, name }) => `${verb} ${name.split('.')[0]}`)).toEqual([
      'create a',
      'create b',
      'create c',
      'patch a',
    ]);
    expect(dropped).toBe(0);
  });

  it('does not let one event that hangs keep the others waiting', async () => {
    const [first, ...later] = ['slow', 'b', 'c', 'd'];
    const open = Promise.withResolvers<void>();
    api.gate = open.promise;
    recorder.record(event(first));
    await settled();
    api.gate = Promise.resolve();
    for (const name of later) recorder.record(event(name));
    await settled();
    expect(api.sent.map(({ name }) => name.split('.')[0])).toEqual(later);
    open.resolve();
    await settled();
    expect(api.sent.length).toBe(4);
  });
});

describe('drain', () => {
  it('sends what waits, with summaries and series', async () => {
    recorder = make({ stormBudget: { burst: 2, rate: 1 } });
    for (const name of ['a', 'b', 'c', 'a']) recorder.record(event(name));
    await recorder.drain();
    expect(api.sent.map(({ verb, name }) => `${verb} ${name.split('.')[0]}`)).toEqual([
      'create a',
      'create b',
      'create c',
      'patch a',
    ]);
    expect(api.sent[2]?.body).toMatchObject({ reason: 'ManyEvents' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives up after its time limit', async () => {
    api.gate = new Promise(() => {});
    recorder.record(event('a'));
    recorder.record(event('b'));
    const draining = recorder.drain(3_000);
    await clock.advanceAsync(3_000);
    await draining;
    expect(dropped).toBe(2);
  });

  it('counts what had no room as lost when it gives up, and leaves no timer', async () => {
    api.gate = new Promise(() => {});
    recorder = make({ maxWaiting: 2 });
    for (let n = 0; n < 5; n++) recorder.record(event(`key-${n}`));
    const draining = recorder.drain(3_000);
    await clock.advanceAsync(3_000);
    await draining;
    expect([dropped, clock.pendingTimers]).toEqual([5, 0]);
  });

  it('ends at once when nothing waits', async () => {
    await recorder.drain();
    expect(clock.pendingTimers).toBe(0);
  });
});
