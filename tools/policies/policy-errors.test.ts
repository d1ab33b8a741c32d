import { describe, expect, it } from 'vitest';
import { errorCatalogue } from '../../src/error-catalogue.ts';
import { policyFiles } from './index.ts';
import type { Manifest } from './policy.ts';
import { policyErrors } from './policy-errors.ts';

const manifests = Object.values(policyFiles).flatMap((policies) =>
  policies.flatMap((policy) => policy.manifests),
);
const codesIn = (text: string): string[] => text.match(/ERR_POLICY_[A-Z_]+/g) ?? [];

interface Said {
  readonly expression: string;
  readonly message: string;
  readonly messageExpression?: string;
}

/** Leaves out what is always true and never said. */
const saidBy = ({ metadata: { name }, spec }: Manifest) =>
  ((spec['validations'] ?? []) as readonly Said[])
    .filter(({ expression }) => expression !== 'true')
    .map((said) => ({ ...said, name }));

const refusals = manifests.flatMap(saidBy);
const operations = manifests
  .filter(
    ({ kind, metadata: { name } }) => kind === 'MutatingAdmissionPolicy' && name === 'latchkey-ownership',
  )
  .flatMap(({ spec }) => codesIn(JSON.stringify(spec['mutations'])));

const catalogued = new Set(Object.values(errorCatalogue).map(({ message }): string => message));

describe('the codes of the admission policies', () => {
  it.each(Object.entries(policyErrors))('%s has a message and a fix in the house form', (code, entry) => {
    expect(code).toMatch(/^ERR_POLICY_[A-Z]+(_[A-Z]+)*$/);
    expect(entry.message).not.toMatch(/[.\s]$/);
    expect(entry.fix).toMatch(/^[A-Z].*\.$/);
    expect(catalogued).not.toContain(entry.message);
  });

  it('say each thing once', () => {
    const messages = Object.values(policyErrors).map(({ message }) => message);
    expect(new Set(messages).size).toBe(messages.length);
  });

  it.each(refusals)('$name: $message', ({ message, messageExpression = '' }) => {
    const [code = ''] = codesIn(message);
    expect(Object.keys(policyErrors)).toContain(code);
    expect(message).toMatch(new RegExp(`^[^\\n]* \\(code ${code}\\)$`));
    expect(messageExpression).toContain(
      "(requester ' + strings.quote(string(request.userInfo.username)) + '",
    );
    expect(messageExpression).toMatch(new RegExp(`, code ${code}\\)'$`));
  });

  it('stand in what the policy says that refuses before the schema', () => {
    expect(operations).toEqual(['ERR_POLICY_CREDENTIAL_LIMITS', 'ERR_POLICY_NOT_OWNER']);
  });

  it('are all in use', () => {
    const used = refusals.flatMap(({ message }) => codesIn(message));
    expect(Object.keys(policyErrors).filter((code) => !used.includes(code))).toEqual([]);
  });
});
