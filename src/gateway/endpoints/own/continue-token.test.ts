import { expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { readContinue, writeContinue } from './list.ts';

const alice = verdictFor();
const limited = { ...verdictFor({ clusters: [] }), record: liveRecord({ name: 'self' }) };
const now = 1_000_000;

it('goes on where the page ended, for its holder and for five minutes', () => {
  const place = { after: 'p-a/ci', last: ['self'] };
  const token = writeContinue(place, alice, now);
  expect(readContinue(token, alice, now + 299_000)).toEqual(place);
  expect(readContinue(token, alice, now + 300_000)).toBeUndefined();
  expect(readContinue(token, verdictFor(undefined, 'bob'), now)).toBeUndefined();
  expect(readContinue(token, limited, now)).toBeUndefined();
});

it('cannot be made to last longer, and nothing else is one', () => {
  const late = writeContinue({ after: 'ci', last: [] }, alice, now + 3_600_000);
  expect(readContinue(late, alice, now)).toBeUndefined();
  for (const text of ['', 'e30', 'W10', '%%', 'bnVsbA'])
    expect(readContinue(text, alice, now)).toBeUndefined();
});
