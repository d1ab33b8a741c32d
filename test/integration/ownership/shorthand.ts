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

/** Makes rows in which somebody changes an object of this kind. */
export const changeOf =
  (resource: Resource) =>
  (who: Person, flavour: Flavour, row: Omit<Row, 'who' | 'resource' | 'attempt'>): Row => ({
    ...row,
    who,
    resource,
    attempt: { verb: 'update', flavour },
  });
