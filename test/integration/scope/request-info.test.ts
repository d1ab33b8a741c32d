import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { ApiServerOriginal } from '../../apiserver/apiserver.ts';
import { compareRequests } from '../../apiserver/compare-requests.ts';

let guard: Guard;
let original: ApiServerOriginal;

beforeAll(async () => {
  guard = await Guard.start('request-info');
  original = await ApiServerOriginal.build(guard.folder);
});

afterAll(() => guard?.stop());

describe('a resolved request', () => {
  it('means to the API server what it means here', async () => {
    const { compared, refused, differences } = await compareRequests(original, { seed: 1, count: 50_000 });
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(20_000);
    expect(Object.keys(refused).sort()).toMatchInlineSnapshot(`
      [
        "Character",
        "Dots",
        "EmptySegment",
        "EncodedControl",
        "EncodedLetter",
        "EncodedSlash",
        "Encoding",
        "ListOptions",
        "Method",
        "NoResource",
        "NoTarget",
        "PercentSign",
        "QueryCharacter",
      ]
    `);
  });
});
