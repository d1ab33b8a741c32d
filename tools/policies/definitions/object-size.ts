import { kinds, notExempt } from '../fragments.ts';
import { validating } from '../policy.ts';
import { cel, text } from '../text.ts';

/**
 * A map takes two levels: the map, and each name with its value. Enough for every schema of ours and its managedFields, with
 * four levels of what a provider of single sign-on claims.
 */
const maxDepth = 19;

/** Of one map or list. Counting on would only cost time: no object of use has as many. */
const maxParts = 2048;

/**
 * Characters of all texts in a value: names and values of maps, items of lists. What is nested deeper counts as too large. A list of
 * texts is joined, which costs the API server less; the value comes before its name, so that only those are taken for one.
 */
function charactersOf(value: string, depth = 0): string {
  if (depth === maxDepth)
    return `type(${value}) == string ? size(${value}) : type(${value}) == map || type(${value}) == list ? 1000000 : 0`;
  const item = `v${depth}`;
  const pairs = `dyn(${value}.map(k, [${value}[k], k]))`;
  return [
    `type(${value}) == string ? size(${value})`,
    `: (type(${value}) == map || type(${value}) == list) && size(${value}) > ${maxParts} ? 1000000`,
    `: type(${value}) == list && size(${value}) > 0 && type(${value}[0]) == string ? size(${value}.join(''))`,
    `: (type(${value}) == map ? ${pairs} : type(${value}) == list ? dyn(${value}) : dyn([])).map(${item},`,
    `${charactersOf(item, depth + 1)}).sum()`,
  ].join('\n');
}

/** Six bytes are the most that one character takes. Of a long text the escapes are counted. */
const bytesOf = (value: string): string => cel`
  (size(${value}) < 1024
    ? size(${value}) * 6
    : size(bytes(${value})) + 5 * size(${value}.findAll(r'[\x00-\x1f"\\<>&\x{2028}\x{2029}]')))
`;

interface Part {
  readonly path: string;
  readonly limit: number;
  readonly unit: string;
  readonly of: (object: string) => string;
}

const metadata = (object: string, field: string, none: '[]' | '{}'): string =>
  `${object}.metadata.?${field}.orValue(${none})`;

const parts: readonly Part[] = [
  {
    path: 'spec',
    ...{ limit: 200_000, unit: 'characters' },
    of: (object) => charactersOf(`dyn(${object}.?spec.orValue({}))`),
  },
  {
    path: 'metadata.labels',
    ...{ limit: 1024, unit: 'labels' },
    of: (object) => `size(${metadata(object, 'labels', '{}')})`,
  },
  {
    path: 'metadata.annotations',
    ...{ limit: 300_000, unit: 'bytes of JSON' },
    of: (object) =>
      `${metadata(object, 'annotations', '{}')}.map(k, size(k) + ${bytesOf(`${object}.metadata.annotations[k]`)}).sum()`,
  },
  {
    path: 'metadata.finalizers',
    ...{ limit: 64, unit: 'finalizers' },
    of: (object) => `size(${metadata(object, 'finalizers', '[]')})`,
  },
  {
    path: 'metadata.ownerReferences',
    ...{ limit: 20_000, unit: 'characters' },
    of: (object) => charactersOf(`dyn(${metadata(object, 'ownerReferences', '[]')})`),
  },
  {
    path: 'metadata.managedFields',
    ...{ limit: 40_000, unit: 'characters' },
    of: (object) => charactersOf(`dyn(${metadata(object, 'managedFields', '[]')})`),
  },
];

const allowed = (path: string, limit: number): string =>
  path === 'metadata.managedFields' ? `${limit} + variables.room` : `${limit}`;

const tooLarge = parts.map(({ of, limit }) => `(${of('object')}) > ${limit}`).join('\n  || ');

export const objectSize = validating({
  name: 'latchkey-object-size',
  about: text`
    How large an object may be. Near the limit of etcd (1.5 MB) an object can be neither disabled nor deleted, because both make
    it larger: its key would be without end. The API server stores JSON, in which one character takes up to six bytes. So
    each part that can grow has a limit, and all of them together stay below that of etcd, with room for the status.

    An object from before the limits may stay as large as it is, may shrink, and may always be released and deleted. One with
    more parts than the API server counts for a policy may not be changed otherwise.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: kinds,
  // One expression, because most objects end here: it is false for all but the largest.
  matchConditions: {
    'not-exempt': notExempt,
    'not-being-deleted': cel`request.operation == 'CREATE' || !has(oldObject.metadata.deletionTimestamp)`,
    'too-large': tooLarge,
  },
  variables: {
    // Disabling adds a note about who did it.
    room: cel`object.?spec.?disabled.orValue(false) == true ? 20000 : 0`,
  },
  validations: parts.map(({ path, limit, unit, of }) => ({
    expression: cel`
      (${of('object')}) <= ${allowed(path, limit)}
        || (request.operation == 'UPDATE' && (${of('object')}) <= (${of('oldObject')}))
    `,
    message: `${path}: larger than ${limit} ${unit}, beyond which an object could become too large to be disabled or deleted; make it smaller`,
  })),
});
