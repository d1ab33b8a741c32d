import { describe, expect, it } from 'vitest';
import { specDifference } from './spec-difference.ts';

const rule = { apiGroups: ['g'], operations: ['CREATE'], scope: '*' };
const shipped = {
  failurePolicy: 'Fail',
  matchConstraints: { resourceRules: [rule] },
  validations: [{ expression: 'a', message: 'b', reason: 'Forbidden' }],
};
const defaults = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };
const live = { ...shipped, matchConstraints: { ...shipped.matchConstraints, ...defaults } };
const constraints = (more: object) => ({ ...live, matchConstraints: { ...live.matchConstraints, ...more } });

describe('a spec on the API server', () => {
  it.each<[string, object]>([
    ['as it was sent', shipped],
    ['with the defaults of the API server', live],
    [
      'with a field that this release does not know, as a newer Kubernetes may fill in',
      { ...live, newField: 1 },
    ],
  ])('is as shipped: %s', (_, spec) => {
    expect(specDifference(shipped, spec)).toBeUndefined();
  });

  it.each<[string, string, unknown]>([
    ['spec.failurePolicy', 'another value', { ...live, failurePolicy: 'Ignore' }],
    ['spec.failurePolicy', 'a field that is gone', { ...live, failurePolicy: undefined }],
    ['spec.validations', 'an entry that is gone', { ...live, validations: [] }],
    [
      'spec.validations[0].expression',
      'another expression',
      { ...live, validations: [{ ...live.validations[0], expression: 'true' }] },
    ],
    [
      'spec.matchConditions',
      'a condition that lets it judge less',
      { ...live, matchConditions: [{ name: 'never', expression: 'false' }] },
    ],
    [
      'spec.matchConstraints.excludeResourceRules',
      'resources taken out',
      constraints({ excludeResourceRules: [rule] }),
    ],
    [
      'spec.matchConstraints.objectSelector',
      'objects taken out',
      constraints({ objectSelector: { matchLabels: { a: 'b' } } }),
    ],
    ['spec.matchConstraints.matchPolicy', 'another default', constraints({ matchPolicy: 'Exact' })],
    [
      'spec.matchConstraints.resourceRules[0].resourceNames',
      'names',
      constraints({ resourceRules: [{ ...rule, resourceNames: ['a'] }] }),
    ],
    ['spec', 'none at all', undefined],
  ])('differs in %s: %s', (path, _, spec) => {
    expect(specDifference(shipped, spec)).toBe(path);
  });

  it.each(['other', 'constructor', 'toString'])(
    'differs where a shipped selector has the label %s more',
    (key) => {
      const selected = { matchLabels: { a: 'b' } };
      expect(specDifference(selected, { matchLabels: { a: 'b', [key]: 'c' } })).toBe(
        `spec.matchLabels.${key}`,
      );
    },
  );
});
