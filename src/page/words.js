/** @typedef {import('./api.js').Json} Json */

/** @type {readonly (readonly [list: string, one: string, name: (entry: Json) => string])[]} */
const lists = [
  ['projects', 'project', ({ project }) => (project === '*' ? 'any' : `${project}`)],
  ['virtualClusters', 'virtual cluster', ({ project, virtualCluster }) => `${project}/${virtualCluster}`],
  ['spaces', 'space', ({ project, space }) => `${project}/${space}`],
  ['clusters', 'cluster', ({ cluster }) => (cluster === '*' ? 'any' : `${cluster}`)],
  ['roles', 'role', ({ role }) => `${role}`],
];

/**
 * @param {unknown} list
 * @returns {readonly Json[]}
 */
const entries = (list) =>
  Array.isArray(list) ? list.filter((entry) => typeof entry === 'object' && entry !== null) : [];

/**
 * A scope in words.
 * @param {Json | undefined} scope
 * @param {string} [whole] Of none.
 */
export function describeScope(scope, whole = 'all that you may reach') {
  if (scope === undefined || scope === null) return whole;
  const parts = lists.flatMap(([list, one, name]) => {
    const names = entries(scope[list]).map(name);
    return names.length === 0 ? [] : [`${one}${names.length > 1 ? 's' : ''} ${names.join(', ')}`];
  });
  const all = [...parts, ...entries(scope['rules']).map(describeRule)];
  return all.join('; ') || 'nothing but who you are';
}

/** @param {Json} rule */
function describeRule({ verbs, cluster, virtualClusters, resources, resourceNames, namespaces }) {
  const does = Array.isArray(verbs) && verbs.length > 0 ? verbs.join(', ') : 'do everything';
  const groups = entries(resources).flatMap(({ resources: names, group }) =>
    Array.isArray(names) && names.length > 0 ? names : [`all of ${group || 'the core group'}`],
  );
  const kinds = groups.length > 6 ? `${groups.length} kinds` : groups.join(', ');
  const where = [
    ...(cluster ? [`cluster ${cluster}`] : []),
    ...entries(virtualClusters).map(({ name }) => `virtual cluster ${name || 'any'}`),
  ];
  const some = [resourceNames, namespaces].some((list) => Array.isArray(list) && list.length > 0);
  return [
    does,
    kinds === '' ? '' : `of ${kinds}`,
    where.length === 0 ? '' : `in ${where.join(', ')}`,
    some ? '(some only)' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

const units = /** @type {const} */ ([
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]);

/**
 * A time in its largest unit, rounded down: `3 days`.
 * @param {number} ms
 */
export function duration(ms) {
  const [unit, size] = units.find(([, each]) => ms >= each) ?? ['second', 1_000];
  const count = Math.max(0, Math.floor(ms / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/**
 * @param {number | undefined} end
 * @param {number} now
 */
export function describeEnd(end, now) {
  if (end === undefined) return 'never';
  return end > now ? `in ${duration(end - now)}` : `${duration(now - end)} ago`;
}

/**
 * @param {number | undefined} at
 * @param {number} now
 */
export const describeUse = (at, now) => {
  if (at === undefined) return 'never';
  return now - at < 60_000 ? 'just now' : `${duration(now - at)} ago`;
};

/** @param {number} at */
export const exactTime = (at) => new Date(at).toLocaleString('en-GB', { timeZoneName: 'short' });
