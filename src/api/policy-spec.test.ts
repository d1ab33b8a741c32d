import { expect, it } from 'vitest';
import { specDigest, withoutUnusedVariables } from './policy-spec.ts';

const named = (name: string, expression: string) => ({ name, expression });
const validations = [{ expression: 'variables.total <= 5', messageExpression: "'of ' + variables.who" }];
const used = [
  named('size', 'size(object.spec)'),
  named('total', 'variables.size + 1'),
  named('who', "'ann'"),
];
const shipped = { failurePolicy: 'Fail', variables: used, validations };

it.each<[string, boolean, object]>([
  ['as it was shipped', true, shipped],
  [
    'with a variable that no expression names',
    true,
    { ...shipped, variables: [named('left', '1'), ...used] },
  ],
  [
    'with variables that name each other, and that nothing else names',
    true,
    {
      ...shipped,
      variables: [
        ...used,
        named('first', 'size(object.spec)'),
        named('next', 'variables.first + variables.size'),
      ],
    },
  ],
  [
    'with another expression of one that is used by way of another',
    false,
    { ...shipped, variables: [named('size', '0'), ...used.slice(1)] },
  ],
  ['in another order', false, { ...shipped, variables: used.toReversed() }],
  ['without one that is used', false, { ...shipped, variables: used.slice(1) }],
  [
    'with a validation that names one more',
    false,
    {
      ...shipped,
      variables: [...used, named('left', '1')],
      validations: [{ expression: 'variables.left > 0' }, ...validations],
    },
  ],
])('a policy %s means the same: %s', (_, isSame, spec) => {
  expect(specDigest(spec) === specDigest(shipped)).toBe(isSame);
});

it.each<[string, unknown, unknown]>([
  ['nothing but unused ones', { variables: [named('left', '1')], validations: [] }, { validations: [] }],
  ['none', { validations: [] }, { validations: [] }],
  ['a text in their place', { variables: 'left' }, { variables: 'left' }],
])('a spec with %s is what is left without them', (_, spec, expected) => {
  expect(withoutUnusedVariables(spec)).toEqual(expected);
});
