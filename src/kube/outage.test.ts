import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { kubeErrorFromStatus, timedOut } from './kube-error.ts';
import { Outage } from './outage.ts';

const action = { verb: 'GET', path: '/api/v1/secrets' };

describe('an outage', () => {
  it('lasts from the first try without success to the next success', () => {
    const clock = new FakeClock();
    const outage = new Outage(clock);
    clock.advance(60_000);
    expect(outage.problem(0)).toBeUndefined();
    outage.began();
    clock.advance(4_000);
    outage.failed(timedOut(action, 4_000));
    outage.began();
    clock.advance(4_000);
    expect(outage.problem(8_000)).toBeUndefined();
    expect(outage.problem(7_999)).toBe('for 8 s (ERR_KUBE_TIMEOUT)');
    expect(outage.ended()).toBe(8_000);
    expect(outage.problem(0)).toBeUndefined();
    outage.began();
    expect(outage.ended()).toBe(0);
    outage.failed(timedOut(action, 4_000));
    clock.advance(1_000);
    expect(outage.problem(0)).toBe('for 1 s (ERR_KUBE_TIMEOUT)');
  });

  it.each([
    ['no answer yet', undefined],
    ['403 Forbidden', kubeErrorFromStatus(action, 403, {})],
    ['503', kubeErrorFromStatus(action, 503, { kind: 'Status', reason: 'see http://10.0.0.1/ for more' })],
    ['ERR_KUBE_TIMEOUT', timedOut(action, 1_000)],
    ['an unexpected error', new Error('connect ECONNREFUSED 10.0.0.1:443')],
  ])('says why without an address: %s', (reason, error) => {
    const clock = new FakeClock();
    const outage = new Outage(clock);
    if (error === undefined) outage.began();
    else outage.failed(error);
    clock.advance(2_000);
    expect(outage.problem(1_000)).toBe(`for 2 s (${reason})`);
  });
});
