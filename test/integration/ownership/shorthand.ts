import type { Resource } from '../../../src/api/resources.ts';
import type { Person } from './people.ts';
import type { Content, Flavour, Row } from './rows.ts';

export type Spec = NonNullable<Content['spec']>;

export const flavours = ['PUT', 'merge patch', 'JSON patch', 'apply', 'forced apply'] as const;

/** Makes rows in which somebody creates an object of this kind by POST. */
export const creationOf =
  (resource: Resource) =>
  (who: Person, does: string, spec: Spec, answer: Row['answer']): Row => ({
    who,
    does,
    resource,
    attempt: { verb: 'create' },
    content: { spec },
    answer,
  });

/** The same creation in another way. */
export const by = (flavour: 'apply' | 'generateName', row: Row): Row => ({
  ...row,
  does: `${row.does}, by ${flavour}`,
  attempt: { verb: 'create', flavour },
});

/** A creation as a line of a table. */
export type Creation<Given = Content> = readonly [
  who: Person,
  resource: Resource,
  does: string,
  content: Given,
  answer: Row['answer'],
  flavour?: 'apply' | 'generateName',
];

/** Rows in which somebody creates an object of a kind. */
export const creations = (table: readonly Creation[]): Row[] =>
  table.map(([who, resource, does, content, answer, flavour]) => ({
    ...{ who, resource, content, answer },
    does: `${does}${flavour === undefined ? '' : ` by ${flavour}`}: ${resource.kind}`,
    attempt: { verb: 'create', ...(flavour && { flavour }) },
  }));

/** A change as a line of a table; several people or flavours stand for a row each. */
export type Change = readonly [
  who: Person | readonly Person[],
  flavour: Flavour | readonly Flavour[],
  does: string,
  content: Content,
  answer: Row['answer'],
];

/** Rows in which somebody changes an object of this kind, which stands there before each of them. */
export const changes = (
  resource: Resource,
  before: NonNullable<Row['before']>,
  table: readonly Change[],
): Row[] =>
  table.flatMap(([people, ways, does, content, answer]) =>
    [people].flat().flatMap((who) =>
      [ways].flat().map((flavour) => ({
        ...{ who, resource, before, content, answer },
        does: typeof ways === 'string' ? does : `${does} by ${flavour}`,
        attempt: { verb: 'update', flavour } as const,
      })),
    ),
  );

/** Rows in which somebody deletes it. */
export const deletes = (
  resource: Resource,
  before: NonNullable<Row['before']>,
  table: readonly (readonly [Person, does: string, answer: Row['answer']])[],
): Row[] =>
  table.map(([who, does, answer]) => ({ who, does, resource, attempt: { verb: 'delete' }, before, answer }));
