import { describe, expect, it } from 'vitest';
import { isWrittenByOperator, ownerOfSpecField } from './managed-fields.ts';

const entry = (manager: string, ...fields: string[]) => ({
  manager,
  operation: 'Update',
  fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
});
const operator = entry('latchkey-operator', 'disabled', 'key');

describe('ownerOfSpecField', () => {
  it.each([
    ['no one', undefined, 'none'],
    ['no one', [], 'none'],
    ['another field', [entry('kubectl', 'ttl')], 'none'],
    ['the operator', [operator], 'operator'],
    ['a person', [entry('kubectl-client-side-apply', 'disabled')], 'other'],
    ['the operator and Argo CD', [operator, entry('argocd-controller', 'disabled')], 'other'],
    [
      'the operator while Argo CD owns another field',
      [operator, entry('argocd-controller', 'ttl')],
      'operator',
    ],
    ['an entry without a manager', [{ fieldsV1: { 'f:spec': { 'f:disabled': {} } } }], 'other'],
    [
      'the status only',
      [{ manager: 'latchkey-operator', fieldsV1: { 'f:status': { 'f:disabled': {} } } }],
      'none',
    ],
    ['garbage', [null, 7, { fieldsV1: 'x' }, { fieldsV1: { 'f:spec': [] } }], 'none'],
    ['an object', { 0: operator }, 'none'],
  ])('answers for %s', (_, managedFields, owner) => {
    expect(ownerOfSpecField(managedFields, 'disabled')).toBe(owner);
  });
});

describe('isWrittenByOperator', () => {
  it.each([
    ['the operator', [operator], true],
    ['both', [entry('kubectl', 'key'), operator], true],
    ['a person', [entry('kubectl', 'key')], false],
    ['no one', undefined, false],
  ])('answers for %s', (_, managedFields, expected) => {
    expect(isWrittenByOperator(managedFields, 'key')).toBe(expected);
  });
});
