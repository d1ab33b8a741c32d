import { describe, expect, it } from 'vitest';
import * as names from '../../src/api/names.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const page = readDocument('docs/reference/labels-annotations.md');

const sections: readonly (readonly [title: string, values: readonly string[]])[] = [
  ['Annotations', Object.values(names.annotations)],
  ['Labels', Object.values(names.labels)],
  ['Finalizers', Object.values(names.finalizers)],
  [
    'Accounts, groups and objects',
    [
      ...names.ownNamespaces,
      names.fieldManager,
      ...Object.values(names.serviceAccounts),
      ...Object.values(names.groups),
      ...Object.values(names.systemObjects),
    ],
  ],
];

describe('docs/reference/labels-annotations.md', () => {
  it.each(sections)('has under "%s" every name once and no other', (title, values) => {
    const documented = rowsOf(sectionOf(page, title)).map(([name]) => codesIn(name)[0] ?? '');
    expect(documented.toSorted()).toEqual([...new Set(values)].toSorted());
  });

  it('names the values of the label that says what a Secret holds', () => {
    const row = rowsOf(sectionOf(page, 'Labels')).find(([name]) => name?.includes(names.labels.purpose));
    expect(codesIn(row?.[2])).toEqual(expect.arrayContaining(Object.values(names.purposes)));
  });

  it('names group and version', () => {
    expect(page).toContain(`The API group is \`${names.group}\`, the version \`${names.version}\``);
  });
});

it('docs/guide/install.md says of each namespace and ServiceAccount of ours that it cannot be renamed', () => {
  const section = sectionOf(readDocument('docs/guide/install.md'), 'Names that cannot change');
  const said = codesIn(section).filter((name) => name.startsWith('latchkey-'));
  expect(said.toSorted()).toEqual(
    [...names.ownNamespaces, ...Object.values(names.serviceAccounts)].toSorted(),
  );
});
