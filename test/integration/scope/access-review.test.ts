import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { decodeAccessReview } from '../../../src/scope/reviews/protobuf-review.ts';
import { ApiServerOriginal, type Failure } from '../../apiserver/apiserver.ts';

let guard: Guard;
let original: ApiServerOriginal;

beforeAll(async () => {
  guard = await Guard.start('access-review');
  original = await ApiServerOriginal.build(guard.folder);
});

afterAll(() => guard?.stop());

const text = fc.oneof(
  fc.constant(''),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('get', 'pods', 'x'.repeat(500)),
);
const fieldSelector = fc.record({ rawSelector: text }, { requiredKeys: [] });
const optional = { requiredKeys: [] };
const resource = fc.record(
  {
    namespace: text,
    verb: text,
    group: text,
    version: text,
    resource: text,
    subresource: text,
    name: text,
    fieldSelector,
  },
  optional,
);
const spec = fc.record(
  { resourceAttributes: resource, nonResourceAttributes: fc.record({ path: text, verb: text }, optional) },
  optional,
);
const metadata = fc.record({ name: text, labels: fc.dictionary(text, text, { maxKeys: 2 }) }, optional);
const reviews = fc.record({ spec, metadata, status: fc.record({ allowed: fc.boolean(), reason: text }) });

/** Leaves out what is empty, as Go does, and the selectors, which no scope looks at. */
function plain(value: object | undefined): object {
  const attributes = Object.entries(value ?? {}).map(([field, texts]) => {
    const filled = Object.entries(texts as object).filter(
      ([name, content]) => content !== '' && !name.endsWith('Selector'),
    );
    return [field, Object.fromEntries(filled)];
  });
  return Object.fromEntries(attributes);
}

async function encodeAll(count: number): Promise<readonly Buffer[]> {
  const samples = fc.sample(reviews, { numRuns: count, seed: 1 });
  const encoded = await original.encode(samples.map((review) => JSON.stringify(review)));
  return encoded.map((bytes) => Buffer.from(bytes as string, 'base64'));
}

const decodeAll = (all: readonly Buffer[]): Promise<readonly (object | Failure)[]> =>
  original.decode(all.map((bytes) => bytes.toString('base64')));

/** A byte changed, put in or taken out, at another place for each index. */
function mutate(bytes: Buffer, index: number): Buffer {
  const at = (index * 7919) % bytes.length;
  const byte = Math.imul(index, 2654435761) >>> 25;
  const middle = index % 6 === 0 ? [] : [byte];
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(middle),
    bytes.subarray(at + (index % 6 === 1 ? 0 : 1)),
  ]);
}

describe('a review in protobuf', () => {
  it('is read as the API server reads it', async () => {
    const encoded = await encodeAll(3_000);
    const expected = await decodeAll(encoded);
    for (const [index, bytes] of encoded.entries()) {
      expect(plain(decodeAccessReview(bytes))).toEqual(plain(expected[index]));
    }
  });

  it('with changed bytes is refused, or still read as the API server reads it', async () => {
    const encoded = await encodeAll(1_000);
    const mutated = Array.from({ length: 20_000 }, (_, index) =>
      mutate(encoded[index % encoded.length] ?? Buffer.alloc(1), index),
    );
    const accepted = mutated.filter((bytes) => decodeAccessReview(bytes) !== undefined);
    expect(accepted.length).toBeGreaterThan(1_000);
    const expected = await decodeAll(accepted);
    const differences = accepted.flatMap((bytes, index) => {
      const [ours, theirs] = [plain(decodeAccessReview(bytes)), expected[index] ?? {}];
      // It reads metadata and status as well, and refuses what is broken there.
      if ('error' in theirs) return [];
      return JSON.stringify(ours) === JSON.stringify(plain(theirs))
        ? []
        : [{ bytes: bytes.toString('base64'), ours, theirs }];
    });
    expect(differences).toEqual([]);
  });
});
