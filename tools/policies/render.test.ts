import { describe, expect, it } from 'vitest';
import { mutating, validating } from './policy.ts';
import { renderPolicies } from './render.ts';

const validation = { expression: 'object.a\n  == 1', message: `a: must be 1${'; write 1'.repeat(20)}` };
const policy = validating({
  name: 'latchkey-a',
  protects: 'security',
  about: 'Why.\n\nMore.',
  operations: ['CREATE'],
  resources: ['as'],
  validations: [validation],
});

describe('a file of policies', () => {
  const yaml = renderPolicies('tools/policies/definitions/a.ts', [policy]);

  it('says what it is made from, and why each policy is there', () => {
    expect(yaml.split('\n').slice(0, 5)).toEqual([
      '# Generated from tools/policies/definitions/a.ts by `npm run generate`. Do not edit.',
      '# Why.',
      '#',
      '# More.',
      'apiVersion: admissionregistration.k8s.io/v1',
    ]);
  });

  it('lays CEL out as it is written, folds messages and keeps short lists in one line', () => {
    expect(yaml).toContain('    - expression: |-\n        object.a\n          == 1\n      message: >-\n');
    expect(yaml).toContain('operations: [CREATE]');
  });
});

describe('a policy', () => {
  const specs = (of: typeof policy) => of.manifests.map(({ kind, spec }) => [kind, spec] as const);

  it('denies with the reason Forbidden, and when it cannot be evaluated', () => {
    const [[kind, spec], [bindingKind, binding]] = specs(policy) as [[string, object], [string, object]];
    expect(kind).toBe('ValidatingAdmissionPolicy');
    expect(spec).toMatchObject({
      failurePolicy: 'Fail',
      validations: [{ ...validation, reason: 'Forbidden' }],
    });
    expect(bindingKind).toBe('ValidatingAdmissionPolicyBinding');
    expect(binding).toEqual({ policyName: 'latchkey-a', validationActions: ['Deny'] });
  });

  it('that mutates has its turn again after others', () => {
    const again = mutating({
      name: 'latchkey-b',
      protects: 'comfort',
      about: '',
      operations: ['CREATE'],
      resources: [],
      mutations: ['[]'],
    });
    expect(specs(again)).toEqual([
      ['MutatingAdmissionPolicy', expect.objectContaining({ reinvocationPolicy: 'IfNeeded' })],
      ['MutatingAdmissionPolicyBinding', { policyName: 'latchkey-b' }],
    ]);
  });
});
