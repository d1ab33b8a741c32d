import { expect, it } from 'vitest';
import { type CredentialParts, created, liveRecord } from '../../../test/builders/credential-object.ts';
import { conditionTypes } from '../../api/conditions.ts';
import { formatInstant } from '../../api/instant.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { Store } from '../../kube/cache/store.ts';
import { EndsAhead } from './ends-ahead.ts';

const minute = 60_000;
const hour = 60 * minute;

let version = 0;

/** A credential that works, or not, with an end so many milliseconds after `created`. */
function ending(name: string, inMs: number | undefined, parts: CredentialParts & { works?: boolean } = {}) {
  const { works = true, ...others } = parts;
  const ready = works
    ? { status: 'True', reason: reasons.issued }
    : { status: 'False', reason: reasons.disabled };
  const conditions = [{ type: conditionTypes.ready, ...ready }];
  const end = inMs === undefined ? {} : { expirationTimestamp: formatInstant(created + inMs) };
  const metadata = { resourceVersion: `${++version}` };
  return liveRecord({ ...others, name, metadata, status: { conditions, ...end } });
}

function start() {
  const [keys, tokens] = [new Store<CredentialRecord>(), new Store<CredentialRecord>()];
  const ends = new EndsAhead([keys, tokens]);
  return { keys, tokens, within: ends.within.bind(ends, 'OwnedAccessKey'), ends };
}

it('counts by kind what works and ends within a span, and not what has ended or never ends', () => {
  const { keys, tokens, within, ends } = start();
  keys.upsert(ending('soon', 30 * minute));
  keys.upsert(ending('today', 5 * hour));
  keys.upsert(ending('past', -30 * minute));
  keys.upsert(ending('never', undefined));
  keys.upsert(ending('disabled', 30 * minute, { works: false }));
  const kind = 'DirectClusterEndpointToken';
  tokens.upsert(ending('token', 30 * minute, { kind }));
  expect([within(created, hour), within(created, 24 * hour)]).toEqual([1, 2]);
  expect(ends.within(kind, created, hour)).toBe(1);
});

it('counts again as time passes, with no change of an object', () => {
  const { keys, within } = start();
  keys.upsert(ending('today', 5 * hour));
  expect(within(created, hour)).toBe(0);
  expect(within(created + 4.5 * hour, hour)).toBe(1);
  expect(within(created + 5.5 * hour, hour)).toBe(0);
});

it('follows a credential that is renewed, disabled and deleted', () => {
  const { keys, within } = start();
  const counts = () => [within(created, hour), within(created, 24 * hour)];
  keys.upsert(ending('ci', 30 * minute));
  keys.upsert(ending('ci', 12 * hour));
  expect(counts()).toEqual([0, 1]);
  keys.upsert(ending('ci', 12 * hour, { works: false }));
  expect(counts()).toEqual([0, 0]);
  keys.upsert(ending('ci', 30 * minute));
  expect(counts()).toEqual([1, 1]);
  keys.remove('ci');
  expect(counts()).toEqual([0, 0]);
});
