import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../api/json.ts';
import { refuseLarge } from './checks.ts';

const annotated = (...lengths: readonly number[]): JsonObject => ({
  metadata: {
    annotations: Object.fromEntries(lengths.map((length, index) => [`a${index}`, 'x'.repeat(length - 2)])),
  },
});
const specified = (length: number): JsonObject => ({ spec: { description: 'x'.repeat(length - 18) } });
const scoped = (length: number): JsonObject => ({ spec: { scope: { roles: ['x'.repeat(length - 14)] } } });
const large = { description: 'x'.repeat(500_000) };
const held = 'spec.scope, spec.rules, spec.exchange, spec.secretRef together';
const tooLarge = (field: string) =>
  expect.objectContaining({
    answer: expect.objectContaining({
      status: 422,
      body: expect.stringContaining(`${field} is larger than`),
    }),
  });

describe('an object that the API server would refuse for its size', () => {
  it.each<[string, string, JsonObject, JsonObject?]>([
    ['one annotation', 'metadata.annotations', annotated(262_145)],
    ['annotations together', 'metadata.annotations', annotated(200_000, 62_145)],
    ['annotations that were as large before', 'metadata.annotations', annotated(262_145), annotated(262_145)],
    ['a new spec', 'spec', specified(400_001)],
    ['a new scope', held, scoped(32_769)],
    ['a scope that was smaller', held, scoped(32_790), scoped(32_780)],
    ['a spec that was smaller', 'spec', specified(400_002), specified(400_001)],
  ])('is refused before it is sent: %s', (_, field, object, stored) => {
    expect(() => refuseLarge(object, stored)).toThrow(tooLarge(field));
  });

  it.each<[string, JsonObject, JsonObject?]>([
    ['nothing', {}],
    ['annotations at the limit', annotated(200_000, 62_144)],
    ['a scope at the limit', scoped(32_768)],
    ['a scope that was as large before', scoped(50_000), scoped(50_000)],
    ['a spec at the limit', specified(400_000)],
    ['a spec that was as large before', specified(500_000), specified(500_000)],
    ['a large spec that is disabled', { spec: { ...large, disabled: true } }, { spec: large }],
  ])('is not refused where it is %s', (_, object, stored) => {
    expect(() => refuseLarge(object, stored)).not.toThrow();
  });
});
