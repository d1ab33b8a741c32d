import { describe, expect, it } from 'vitest';
import type { Confirmation } from '../../credentials/record.ts';
import { deadSerials, isAhead, liveSerials, nextSerial, withoutDead } from './serials.ts';

const hash = 'a'.repeat(64);
const now = 1_000;
const previous = { credentialHash: hash, serial: 4, expirationTimestamp: now + 1 };

describe('the serials of certificates', () => {
  it.each<[string, Confirmation, readonly number[]]>([
    ['nothing is confirmed', { serial: 5 }, []],
    ['one is', { serial: 5, credentialHash: hash }, [5]],
    ['its predecessor overlaps', { serial: 5, credentialHash: hash, previous }, [4, 5]],
    [
      'the overlap is over',
      { serial: 5, credentialHash: hash, previous: { ...previous, expirationTimestamp: now } },
      [5],
    ],
  ])('that live when %s', (_, status, live) => {
    expect(liveSerials(status, now)).toEqual(live);
  });

  it('that are bound and do not live are dead', () => {
    expect(deadSerials({ serial: 5, boundSerials: [3, 4, 5] }, [5])).toEqual([3, 4]);
    expect(deadSerials({ serial: 5 }, [])).toEqual([]);
  });

  it('are never used twice, whether something came of them or not', () => {
    expect(nextSerial({ serial: 0 }, [])).toBe(1);
    expect(nextSerial({ serial: 5, boundSerials: [5] }, [])).toBe(6);
    expect(nextSerial({ serial: 5, boundSerials: [5, 7] }, [])).toBe(8);
    const refused = withoutDead({ serial: 5, boundSerials: [5, 7] }, []);
    expect(refused).toEqual({ serial: 7 });
    expect(nextSerial(refused, [])).toBe(8);
  });

  it('are not used again when a record names them and no status does', () => {
    expect(nextSerial({ serial: 5, boundSerials: [5] }, [5, 6])).toBe(7);
    expect(isAhead([5, 6], { serial: 5, boundSerials: [5] })).toBe(true);
    expect(isAhead([6], { serial: 5 })).toBe(true);
    expect(isAhead([5], { serial: 5 })).toBe(false);
    expect(isAhead([6], { serial: 5, boundSerials: [6] })).toBe(false);
  });

  it('stay what they are while one is confirmed', () => {
    const confirmation = { serial: 5, credentialHash: hash, boundSerials: [4, 5, 6] };
    expect(withoutDead(confirmation, [5])).toEqual({ ...confirmation, boundSerials: [5] });
  });
});
