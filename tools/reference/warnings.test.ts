import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

interface Policy {
  readonly spec: {
    readonly validations: readonly { readonly message: string; readonly messageExpression?: string }[];
  };
}

const [policy] = parseAllDocuments(readDocument('config/admission/warnings.yaml'));
const { validations = [] } = (policy?.toJS() as Policy | undefined)?.spec ?? {};
const rows = rowsOf(sectionOf(readDocument('docs/guide/site-policy.md'), 'Warnings'));

it('docs/guide/site-policy.md lists each warning of latchkey-warnings, by the field that it begins with', () => {
  const warnings = validations.flatMap(({ message, messageExpression = '' }) => [
    ...new Set(`'${message} ${messageExpression}`.match(/(?<=')spec\.[\w.]+(?=: )/g)),
  ]);
  const listed = rows.flatMap(([field]) => codesIn(field).filter((code) => code.startsWith('spec.')));
  expect(warnings.length).toBeGreaterThanOrEqual(validations.length);
  expect(listed.toSorted()).toEqual(warnings.toSorted());
});
