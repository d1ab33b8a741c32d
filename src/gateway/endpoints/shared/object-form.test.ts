import { describe, expect, it } from 'vitest';
import { apiVersion } from '../../../api/names.ts';
import { checkForm } from './request-body.ts';

const form = { kind: 'Self', specFields: ['accessKey'] };
const problemOf = (answer: object): string =>
  'refusal' in answer ? JSON.parse((answer.refusal as { body: string }).body).message : 'none';

describe('an object', () => {
  const check = (object: unknown, fieldValidation: string | null = null) =>
    checkForm(object, form, fieldValidation);

  it.each([
    {},
    { kind: 'Self' },
    { apiVersion },
    { kind: '', apiVersion: null },
    { metadata: null, spec: null },
    { metadata: { name: 'a', anything: 1 }, spec: { accessKey: 'a' }, status: {} },
  ])('%j is of the kind of the path', (object) => {
    expect(check(object)).toEqual({ object, warnings: [] });
  });

  it.each([
    [[], 'it is not one object'],
    ['text', 'it is not one object'],
    [{ kind: 'Other' }, 'kind must be Self'],
    [{ kind: 1 }, 'kind must be Self'],
    [{ apiVersion: 'management.platform.sh/v2' }, 'apiVersion must be management.platform.sh/v1'],
    [{ apiVersion: 'v1' }, 'apiVersion must be management.platform.sh/v1'],
    [{ metadata: [] }, 'metadata must be an object'],
    [{ spec: 'a' }, 'spec must be an object'],
  ])('%j is refused', (object, problem) => {
    expect(problemOf(check(object))).toContain(problem);
  });

  const unknown = { other: 1, spec: { more: 2 } };
  const problems = ['unknown field "other"', 'unknown field "spec.more"'];

  it('with fields that are not known is refused', () => {
    const problem = `strict decoding error: ${problems.join(', ')}`;
    for (const asked of ['Strict', '', null]) expect(problemOf(check(unknown, asked))).toContain(problem);
  });

  it('with such fields is taken where the client asks for that', () => {
    expect(check(unknown, 'Warn')).toEqual({ object: unknown, warnings: problems });
    expect(check(unknown, 'Ignore')).toEqual({ object: unknown, warnings: [] });
  });

  it('has a spec that somebody else looks at', () => {
    expect(checkForm({ spec: { more: 2 } }, { kind: 'Self' }, 'Strict')).toHaveProperty('warnings', []);
  });
});
