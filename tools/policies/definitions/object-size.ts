import { heldFields, heldPaths, maxHeldBytes } from '../../../src/credentials/object-size.ts';
import { inSpec, kinds, notExempt, oldSpec, spec } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, text } from '../text.ts';

/** Maps and lists below each other. Enough for the managedFields of claims that are six names deep. */
const maxDepth = 12;

/** Of one map or list. Counting on would only cost time: no object of use has as many. */
const maxParts = 2048;

/**
 * Whether a value is nested deeper than `textOf` may be given, or has more parts in one place. Each level of it is copied once more,
 * which no limit of the API server sees.
 */
function outOfBounds(value: string, depth = 1): string {
  const container = `(type(${value}) == map || type(${value}) == list)`;
  if (depth > maxDepth) return container;
  const item = `v${depth}`;
  const below = outOfBounds(item, depth + 1);
  // The empty ones come first: most parts of managedFields are empty.
  return `${value} != {} && ${container} && (size(${value}) > ${maxParts} || ${value}.exists(k, ${item},\n  ${below}))`;
}

/** With names, quotes and commas, as JSON has them. */
const textOf = (value: string): string => `'%s'.format([${value}])`;

/**
 * Of a value of any form. What JSON writes longer than `format` does is counted as six bytes. Of a fraction `format` writes six
 * digits, and JSON up to 16 bytes more.
 */
const jsonBytesOf = (value: string): string => cel`
  [${textOf(value)}].map(t, size(bytes(t)) + 5 * size(t.findAll(r'[<>&]|\\[xav]'))
    + 16 * size(t.findAll(r'[.]\d{6}')))[0]
`;

/** Of a text as JSON has it. Six bytes are the most that one character takes; of a long text the escapes are counted. */
const bytesOf = (value: string): string => cel`
  (size(${value}) < 1024
    ? size(${value}) * 6
    : size(bytes(${value})) + 5 * size(${value}.findAll(r'[\x00-\x1f"\\<>&\x{2028}\x{2029}]')))
`;

/** Of all names and texts in a list of flat maps. */
const charactersOf = (list: string): string => cel`
  (size(${list}) > ${maxParts.toString()} ? 1000000
    : ${list}.map(o, o.map(k, size(k) + (type(o[k]) == string ? size(o[k]) : 0)).sum()).sum())
`;

const specOf = (object: string): string => `${object}.?spec.orValue({})`;
const metadata = (object: string, field: string, none: '[]' | '{}'): string =>
  `${object}.metadata.?${field}.orValue(${none})`;
const annotationsOf = (object: string): string => metadata(object, 'annotations', '{}');
const ownersOf = (object: string): string => metadata(object, 'ownerReferences', '[]');
const managersOf = (object: string): string => metadata(object, 'managedFields', '[]');

const identityOf = (object: string): string => cel`
  dyn(type(${specOf(object)}) == map ? ${specOf(object)}[?'identity'].orValue({}) : {})
`;

/** Less than the smallest limit in characters below. What has no more in all its parts together takes little memory, too. */
const smallCharacters = 20_000;

const allParts = [specOf, annotationsOf, ownersOf, managersOf].map((of) => `dyn(${of('object')})`).join(', ');

/**
 * False for nearly every object. Where it is true, the validations measure part by part: whatever has an identity, which few do. Its
 * claims may be nested, and to look at them here again could cost more than at their creation, when the key must be disabled.
 * Of an entry in managedFields only fieldsV1, at the third level, is more than a text: the API server lets nothing else in.
 */
const mayBeTooLarge = cel`
  (has(object.metadata.labels) && size(object.metadata.labels) > 1024)
    || (has(object.metadata.finalizers) && size(object.metadata.finalizers) > 64)
    || (${inSpec(cel`has(object.spec.identity)`)})
    || (has(object.metadata.managedFields) && (size(object.metadata.managedFields) > ${maxParts.toString()}
      || object.metadata.managedFields.exists(m, has(m.fieldsV1) && ${outOfBounds('m.fieldsV1', 3)})))
    || size(${textOf(`[${allParts}]`)}) > ${smallCharacters.toString()}
`;

interface Part {
  readonly path: string;
  readonly limit: number;
  readonly unit: string;
  readonly of: (object: string) => string;
  /** Why it has the limit. Default: {@link neverEnded}. */
  readonly reason?: string;
  /** The place in the variable `outOfBounds`, if it may be nested as deep as one likes. The schema has a bound for all else. */
  readonly bounds?: 0 | 1;
}

const neverEnded = 'beyond which an object could become too large to be disabled or deleted; make it smaller';

/** Of a variable with a spec. The schema says how deep these fields may be nested. */
const heldOf = (spec: string): string =>
  `[${heldFields.map((field) => `dyn(${spec}[?'${field}'].orValue(''))`).join(', ')}]`;

const parts: Readonly<Record<string, Part>> = {
  spec: {
    path: 'spec',
    ...{ limit: 400_000, unit: 'bytes of JSON' },
    of: (object) => jsonBytesOf(specOf(object)),
    bounds: 0,
  },
  held: {
    path: `${heldPaths} together`,
    ...{ limit: maxHeldBytes, unit: 'bytes of JSON' },
    of: (object) => jsonBytesOf(heldOf(object === 'object' ? 'variables.spec' : 'variables.oldSpec')),
    reason: 'which would fill the memory of the gateways; make them smaller, or make several credentials',
  },
  labels: {
    path: 'metadata.labels',
    ...{ limit: 1024, unit: 'labels' },
    of: (object) => `size(${metadata(object, 'labels', '{}')})`,
  },
  annotations: {
    path: 'metadata.annotations',
    ...{ limit: 300_000, unit: 'bytes of JSON' },
    of: (object) =>
      `${annotationsOf(object)}.map(k, size(k) + 6 + ${bytesOf(`${object}.metadata.annotations[k]`)}).sum()`,
  },
  finalizers: {
    path: 'metadata.finalizers',
    ...{ limit: 64, unit: 'finalizers' },
    of: (object) => `size(${metadata(object, 'finalizers', '[]')})`,
  },
  owners: {
    path: 'metadata.ownerReferences',
    ...{ limit: 20_000, unit: 'characters' },
    of: (object) => charactersOf(ownersOf(object)),
  },
  managers: {
    path: 'metadata.managedFields',
    ...{ limit: 120_000, unit: 'bytes of JSON' },
    of: (object) => jsonBytesOf(managersOf(object)),
    bounds: 1,
  },
};

/** Of the new object and of the old one. What is out of bounds is larger than all, and nothing may stay as large as it. */
const sizes = Object.entries(parts).flatMap(([name, { of, bounds }]) => {
  const beyond = bounds === undefined ? '' : `variables.outOfBounds[${bounds}] ? 10000000 : `;
  const beyondBefore = bounds === undefined ? '' : ` || variables.outOfBoundsBefore[${bounds}]`;
  return [
    [`${name}Size`, `${beyond}${of('object')}`],
    [`${name}SizeBefore`, `request.operation == 'CREATE'${beyondBefore} ? -1 : ${of('oldObject')}`],
  ] as const;
});

/** An emergency stop must be possible whatever else the spec holds. */
const onlyDisabled = cel`
  request.operation == 'UPDATE'
    && variables.spec.all(k, k == 'disabled' || variables.oldSpec[?k] == optional.of(variables.spec[k]))
`;

/** Read only where the spec is measured, or the managers are. */
const checkBounds = (object: string): string => cel`
  [variables.onlyDisabled ? dyn({}) : ${identityOf(object)}, dyn(${managersOf(object)})].map(v0,
    ${outOfBounds('v0')})
`;

const wasDisabled = cel`variables.oldSpec[?'disabled'] == optional.of(true)`;
const isDisabled = cel`variables.spec[?'disabled'] == optional.of(true)`;

/** Disabling adds a note about who did it. */
const room = cel`(${isDisabled} ? 20000 : 0)`;

/** False when it is enabled again: what used up that room must go, or disabling again would have none. */
const mayKeepManagers = cel`(${isDisabled} || !(${wasDisabled}))`;

/** From before the limits. Disabled a second time it is the same, and may stay so, though no one can say how large it is. */
const sameManagers = cel`
  (request.operation == 'UPDATE' && ${managersOf('object')} == ${managersOf('oldObject')})
`;

/** Of an object from before the limits, too. It passes once: what is too large cannot be enabled again. */
const disablesNow = cel`
  ${isDisabled} && !(${wasDisabled}) && variables.onlyDisabled
    && (variables.outOfBoundsBefore[1] || variables.managersSize <= variables.managersSizeBefore + 2000)
`;

const conditionOf = (name: string, limit: string): string => {
  const within = `variables.${name}Size <= ${limit} || variables.${name}Size <= variables.${name}SizeBefore`;
  // Asked first, because to measure a spec from before the limits may cost more than the API server allows.
  if (name === 'spec' || name === 'held') return `variables.onlyDisabled || ${within}`;
  if (name !== 'managers') return within;
  return cel`
    variables.managersSize <= ${limit} + ${room}
      || (${mayKeepManagers} && (variables.managersSize <= variables.managersSizeBefore || ${sameManagers}))
      || (${disablesNow})
  `;
};

const validations = Object.entries(parts).map(
  ([name, { path, limit, unit, bounds, reason = neverEnded }]) => {
    const deep = bounds === undefined ? '' : ', or nested too deep';
    return {
      expression: conditionOf(name, limit.toString()),
      ...naming('ERR_POLICY_TOO_LARGE', `${path}: larger than ${limit} ${unit}${deep}, ${reason}`),
    };
  },
);

export const objectSize = validating({
  name: 'latchkey-object-size',
  protects: 'security',
  about: text`
    How large an object may be. Near the limit of etcd (1.5 MB) an object can be neither disabled nor deleted, because both make
    it larger: its key would be without end. The API server stores JSON, in which one character takes up to six bytes. So
    each part that can grow has a limit, and all of them together stay below that of etcd, with room for the status. Parts that
    the operator and the gateways keep in memory have a much smaller one.

    An object from before the limits may stay as large as it is, may shrink, may be disabled, and may always be released and
    deleted. One with more parts than the API server counts for a policy may only be released and deleted.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: kinds,
  matchConditions: {
    'not-exempt': notExempt,
    'not-being-deleted': cel`request.operation == 'CREATE' || !has(oldObject.metadata.deletionTimestamp)`,
    'may-be-too-large': mayBeTooLarge,
  },
  variables: {
    spec,
    oldSpec,
    onlyDisabled,
    outOfBounds: checkBounds('object'),
    outOfBoundsBefore: checkBounds('oldObject'),
    ...Object.fromEntries(sizes),
  },
  validations,
});
