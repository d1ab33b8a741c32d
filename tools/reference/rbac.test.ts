import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

interface Role {
  readonly kind: string;
  readonly rules: readonly {
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

const page = readDocument('docs/reference/rbac.md');

/** The text between two lines that begin with these words. */
const between = (from: string, to: string): string => page.slice(page.indexOf(from), page.indexOf(to));

/** `resource[/name] verb` for each right. */
function shipped(file: string): string[] {
  const documents = parseAllDocuments(readDocument(`config/${file}`)).map((one) => one.toJS() as Role);
  const rules = documents.filter(({ kind }) => /^(Cluster)?Role$/.test(kind)).flatMap(({ rules }) => rules);
  return rules
    .flatMap(({ resources, verbs, resourceNames = [''] }) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) => verbs.map((verb) => `${resource}[${name}] ${verb}`)),
      ),
    )
    .toSorted();
}

function documented(text: string): string[] {
  return rowsOf(text)
    .flatMap(([cell = '', verbs = '']) => {
      const [subject = '', name] = cell.split(' named ');
      const resources = codesIn(subject).filter((code) => code !== 'events.k8s.io');
      return resources.flatMap((resource) =>
        verbs.split(', ').map((verb) => `${resource}[${codesIn(name)[0] ?? ''}] ${verb}`),
      );
    })
    .toSorted();
}

describe('docs/reference/rbac.md', () => {
  it.each([
    ['rbac/operator-cluster-role.yaml', between('In the whole cluster:', 'In `latchkey-system`:')],
    ['rbac/operator-role.yaml', between('In `latchkey-system`:', 'Where you want')],
    ['cluster-profiles/role.yaml', between('Where you want', 'Reading all Secrets')],
    ['rbac/admin-cluster-role.yaml', sectionOf(page, 'People who run the platform')],
    ['rbac/people-cluster-roles.yaml', between('## Roles for people', '## Verbs of Latchkey')],
  ])('has exactly the rights of config/%s', (file, text) => {
    expect(documented(text)).toEqual(shipped(file));
  });
});
