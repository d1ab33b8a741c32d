import { describe, expect, it } from 'vitest';
import { allCredentialKinds } from '../../src/api/credential-kinds.ts';
import { bytesOfRecord } from './record-memory.ts';

/** With fewer of them, what many share counts for more of each. */
const [verified, operated] = [20_000, 5_000];

describe('memory of one record', () => {
  it.each(allCredentialKinds)('what a verifier keeps of one %s takes less than 1 KiB', async (kind) => {
    expect(await bytesOfRecord('live', kind, verified)).toBeLessThan(1_024);
  });

  it.each(allCredentialKinds)('what the operator keeps of one %s takes less than 2 KiB', async (kind) => {
    expect(await bytesOfRecord('full', kind, operated)).toBeLessThan(2_048);
  });
});
