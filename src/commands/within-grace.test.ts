import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withinGrace } from './within-grace.ts';

const graceMs = 20_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('withinGrace', () => {
  it('lets work take as long as it likes while nobody asks it to stop', async () => {
    const work = Promise.withResolvers<void>();
    const waiting = withinGrace(work.promise, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(365 * 86_400_000);
    work.resolve();
    await expect(waiting).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('passes on what the work fails with', async () => {
    const failure = new Error('the work failed');
    await expect(withinGrace(Promise.reject(failure), new AbortController().signal)).rejects.toBe(failure);
  });

  it('waits for work that ends within the grace', async () => {
    const stop = new AbortController();
    const work = Promise.withResolvers<void>();
    const waiting = withinGrace(work.promise, stop.signal);
    stop.abort();
    await vi.advanceTimersByTimeAsync(graceMs - 1);
    work.resolve();
    await expect(waiting).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives up when the grace is over, and says how long it was', async () => {
    const stop = new AbortController();
    const waiting = withinGrace(new Promise(() => undefined), stop.signal);
    const outcome = expect(waiting).rejects.toMatchObject({
      code: 'ERR_SHUTDOWN_TIMEOUT',
      message: 'the operator did not stop within 20000 ms',
    });
    await vi.advanceTimersByTimeAsync(graceMs);
    stop.abort();
    await vi.advanceTimersByTimeAsync(graceMs);
    await outcome;
  });

  it('counts from the first abort, also one that came before', async () => {
    const waiting = withinGrace(new Promise(() => undefined), AbortSignal.abort(), 100);
    const outcome = expect(waiting).rejects.toMatchObject({ code: 'ERR_SHUTDOWN_TIMEOUT' });
    await vi.advanceTimersByTimeAsync(100);
    await outcome;
  });

  it('does not start counting when the signal aborts after the work has ended', async () => {
    const stop = new AbortController();
    await withinGrace(Promise.resolve(), stop.signal);
    stop.abort();
    expect(vi.getTimerCount()).toBe(0);
  });
});
