import { expect, it } from 'vitest';
import { type Reason, reasons } from '../../../api/reasons.ts';
import { type Finalization, releaseOf } from '../finalizer.ts';
import { type CertificateRemains, remainderOf } from './certificate-clean-up.ts';

const deadline = 60_000;
const because = (reason: Reason) => ({ problem: { reason, message: '' } });
const away = because(reasons.targetUnreachable);

type Case = CertificateRemains & Omit<Finalization, 'left'>;
const base: Case = { secrets: 0, problem: undefined, instance: 'present', now: 1, deadline };

it.each<[string, Partial<Case>, ReturnType<typeof releaseOf>]>([
  ['nothing is left', {}, 'done'],
  ['a Secret is left', { secrets: 1 }, undefined],
  ['the virtual cluster is away', away, undefined],
  ['the virtual cluster is away until the limit', { ...away, now: deadline }, 'left'],
  ['a Secret is left at the limit', { secrets: 1, now: deadline }, 'left'],
  ['nothing is left, however late', { now: deadline + 1 }, 'done'],
  ['the instance is going and its cluster does not answer', { ...away, instance: 'going' }, 'left'],
  ['the instance is going and its cluster was cleaned', { instance: 'going' }, 'done'],
  ['the instance is gone', { ...away, instance: 'gone' }, 'left'],
  ['the administrator Secret is gone', because(reasons.kubeConfigNotFound), 'left'],
  ['the instance is gone and a Secret is left', { ...away, instance: 'gone', secrets: 1 }, undefined],
])('when %s', (_, change, release) => {
  const found = { ...base, ...change };
  expect(releaseOf({ ...found, left: remainderOf(found) })).toBe(release);
});
