import { describe, expect, it } from 'vitest';
import { allCredentialKinds } from '../../src/api/credential-kinds.ts';
import { bytesOfRecord } from './record-memory.ts';

const records = 20_000;
/** By far enough on a busy machine; nothing here is judged by time. */
const timeout = 120_000;

describe('memory of one record', () => {
  it.each(allCredentialKinds)(
    'what a verifier keeps of one %s takes less than 1 KiB',
    { timeout },
    async (kind) => {
      expect(await bytesOfRecord('live', kind, records)).toBeLessThan(1_024);
    },
  );

  it.each(allCredentialKinds)(
    'what the operator keeps of one %s takes less than 2 KiB',
    { timeout },
    async (kind) => {
      expect(await bytesOfRecord('full', kind, records)).toBeLessThan(2_048);
    },
  );
});
