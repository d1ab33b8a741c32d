import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const folder = path.resolve(import.meta.dirname, '../../config/admission');
const policies = ['delegation', 'secret-reference', 'key-delivery', 'target-secrets', 'owner-references'];
const page = sectionOf(readDocument('docs/reference/admission.md'), 'Messages');
const beginnings = rowsOf(page).map(([cell]) => codesIn(cell)[0] ?? '');

interface Policy {
  readonly spec: { readonly validations?: readonly { readonly message: string }[] };
}

/** Of the list: the same for all groups. */
const general = (message: string): string => message.replace(/^spec\.groups\[\d+\]/, 'spec.groups[2]');

const messages = policies.flatMap((name) => {
  const [policy] = parseAllDocuments(readFileSync(path.join(folder, `${name}.yaml`), 'utf8'));
  const { validations = [] } = (policy?.toJS() as Policy | undefined)?.spec ?? {};
  return validations.map(({ message }) => ({ name, message }));
});

it('finds the messages', () => {
  expect(new Set(messages.map(({ name }) => name))).toEqual(new Set(policies));
});

describe('docs/reference/admission.md', () => {
  it.each(messages)('says what to do about: $message ($name)', ({ message }) => {
    const explained = beginnings.filter((text) => text.includes(': ') && general(message).startsWith(text));
    expect(explained).toHaveLength(1);
  });
});
