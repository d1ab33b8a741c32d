import { describe, expect, it } from 'vitest';
import { bytesOfRecord } from './record-memory.ts';
import { kinds } from './record-memory-forms.ts';

const records = 20_000;
/** By far enough on a busy machine; nothing here is judged by time. */
const timeout = 120_000;

describe('memory of one record', () => {
  it.each(kinds)('what a verifier keeps of one %s takes less than 1 KiB', { timeout }, async (kind) => {
    expect(await bytesOfRecord('live', kind, records)).toBeLessThan(1_024);
  });

  it.each(kinds)('what the operator keeps of one %s takes less than 2 KiB', { timeout }, async (kind) => {
    expect(await bytesOfRecord('full', kind, records)).toBeLessThan(2_048);
  });
});
