import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openAPISchemas } from '../../src/gateway/endpoints/discovery/additions.ts';
import { definitionFiles } from './api-page.ts';
import { readDocument } from './document.ts';
import { explanationProblem } from './explanation.ts';

/** Every text in a schema or a list of columns, with its place. */
function textsIn(part: unknown, place: string): readonly (readonly [string, string])[] {
  if (typeof part !== 'object' || part === null) return [];
  const { description } = part as { readonly description?: unknown };
  const own = typeof description === 'string' ? [[place, description] as const] : [];
  return [...own, ...Object.entries(part).flatMap(([name, each]) => textsIn(each, `${place}.${name}`))];
}

const definitions = definitionFiles().flatMap((file) =>
  textsIn(parse(readDocument(`crds/${file}.yaml`)), file),
);
const ofGateway = textsIn(openAPISchemas, 'gateway');

it('the texts are found', () => {
  expect(definitions.length).toBeGreaterThan(250);
  expect(definitions.map(([place]) => place)).toContainEqual(
    expect.stringContaining('additionalPrinterColumns'),
  );
  expect(ofGateway.length).toBeGreaterThan(20);
});

it.each([...definitions, ...ofGateway])('%s begins with what it does or holds', (_, text) => {
  expect(explanationProblem(text), text).toBeUndefined();
});

describe('a text', () => {
  it.each([
    'Refuses the key, if true.',
    'Tells whether the condition holds.',
    'Name of the Secret. Defaults to `config`.',
    'The user that the key speaks for: of a team `team:` and its name.',
    'Groups that the identity gets.',
    'First 16 hexadecimal digits of credentialHash, to name the key in talk and logs.',
    'A signed token with an end (a JWT).',
  ])('"%s" says what its field does or holds', (text) => {
    expect(explanationProblem(text)).toBeUndefined();
  });

  it.each([
    ['How the kubeconfig authenticates.', 'begins with "How"'],
    ['Whether the key grants access.', 'begins with "Whether"'],
    ['When user and team are missing, the creator.', 'begins with "When"'],
    ['If true, the key is refused.', 'begins with "If"'],
    ['Its `spec.type`.', 'does not say which one it is'],
    ['Its own scope; absent without one.', 'begins with "Its"'],
    ['Set this to refuse the key.', 'begins with "Set"'],
    ['Deprecated field of older clients.', 'begins with "Deprecated"'],
    ['Specifies the user of the key.', 'has the verb "Specifies"'],
    ['User name.', 'does not say which one it is'],
    ['Nonce to use.', 'says what to do with it'],
    ['the user that the key speaks for.', 'is no whole sentence'],
    ['The user that the key speaks for', 'is no whole sentence'],
  ])('"%s" is refused: it %s', (text, problem) => {
    expect(explanationProblem(text)).toBe(problem);
  });
});
