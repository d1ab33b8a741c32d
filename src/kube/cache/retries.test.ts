import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { CutForSilence } from '../client/silence-reports.ts';
import { kubeErrorFromStatus, unreachable } from '../kube-error.ts';
import { Retries } from './retries.ts';

const action = { verb: 'WATCH', path: '/api/v1/secrets' };
const refused = unreachable(action, new Error('connect ECONNREFUSED'));
const cut = unreachable(action, new CutForSilence());
const make = () => new Retries({ clock: new FakeClock(), random: () => 1, backOffMs: [200, 30_000] });

it('pauses grow after each failure, up to the longest', () => {
  const retries = make();
  const delays = Array.from({ length: 10 }, () => retries.failed(refused).delayMs);
  expect(delays.slice(0, 3)).toEqual([200, 400, 800]);
  expect(delays.at(-1)).toBe(30_000);
});

it('pauses stay short where watches are cut because one request got no answer, however often', () => {
  const retries = make();
  const delays = Array.from({ length: 10 }, () => retries.failed(cut).delayMs);
  expect(new Set(delays)).toEqual(new Set([200]));
});

it('no server has a watch wait for longer than the longest pause', () => {
  const retries = make();
  const hour = kubeErrorFromStatus(action, 503, { kind: 'Status', details: { retryAfterSeconds: 3_600 } });
  expect(retries.failed(hour)).toEqual({ delayMs: 30_000, askedForMs: 30_000 });
});
