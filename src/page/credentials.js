import { createdWith, requester } from './api.js';
import { fixes } from './generated/fixes.js';
import { describeScope } from './words.js';

/** @typedef {import('./api.js').Json} Json */

/**
 * @typedef {object} Credential What the page shows of one object.
 * @property {string} id
 * @property {string} kind
 * @property {string} namespace
 * @property {string} name
 * @property {string} title
 * @property {string} description
 * @property {'live' | 'ended' | 'disabled' | 'locked' | 'waiting' | 'refused'} state
 * @property {string} reason
 * @property {string} message
 * @property {string} fix
 * @property {string} reach
 * @property {boolean} isWide Without a scope of its own.
 * @property {number | undefined} end
 * @property {number | undefined} lastUse
 * @property {number | undefined} created
 * @property {string | undefined} parent The access key above it.
 * @property {string | undefined} madeWith
 * @property {string} type
 * @property {boolean} inSecret
 * @property {string} owner Who it speaks for, or who asked for it.
 */

/**
 * @param {unknown} value
 * @returns {number | undefined}
 */
const instant = (value) => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
};

/**
 * @param {Json} object
 * @param {string} kind
 * @param {string} [whole] What it reaches without a scope, in words.
 * @returns {Credential}
 */
export function toCredential(object, kind, whole) {
  const { metadata = {}, spec = {}, status = {} } = object;
  const ready = readyOf(status);
  const state = stateOf(object, ready);
  const reason = reasonOf(object, state, ready);
  const namespace = metadata.namespace ?? '';
  return {
    id: `${kind}/${namespace}/${metadata.name}`,
    kind,
    namespace,
    name: metadata.name,
    title: spec.displayName || metadata.name,
    description: spec.description ?? '',
    state,
    reason,
    message: reason === ready.reason ? String(ready.message ?? '') : '',
    fix: Object.hasOwn(fixes, reason) ? (fixes[reason] ?? '') : '',
    reach: reachOf(object, kind, whole),
    isWide: kind === 'OwnedAccessKey' && spec.scope === undefined && spec.accessKey === undefined,
    end: instant(status.expirationTimestamp),
    lastUse: instant(status.lastActivity),
    created: instant(metadata.creationTimestamp),
    parent: spec.accessKey,
    madeWith: metadata.annotations?.[createdWith],
    type: spec.type ?? '',
    owner: ownerOf(object),
    inSecret: spec.secretRef !== undefined && spec.secretRef !== null,
  };
}

/**
 * @param {Json} status
 * @returns {Json}
 */
const readyOf = ({ conditions = [] }) =>
  conditions.find((/** @type {Json} */ { type }) => type === 'Ready') ?? {};

/**
 * @param {Json} object
 * @param {Json} ready
 * @returns {Credential['state']}
 */
function stateOf({ metadata = {}, spec = {}, status = {} }, ready) {
  if (metadata.deletionTimestamp !== undefined) return 'ended';
  const end = instant(status.expirationTimestamp);
  if (end !== undefined && end <= Date.now()) return 'ended';
  if (spec.disabled === true) return 'disabled';
  if (ready.status === 'True') return 'live';
  if (ready.reason === 'Expired') return 'ended';
  if (ready.reason === 'Locked') return 'locked';
  return ready.status === 'False' ? 'refused' : 'waiting';
}

/**
 * Why it is no longer, or not yet, of use. The operator may not have written so yet.
 * @param {Json} object
 * @param {Credential['state']} state
 * @param {Json} ready
 */
function reasonOf({ metadata = {} }, state, ready) {
  if (state === 'live') return '';
  if (metadata.deletionTimestamp !== undefined) return 'Deleting';
  if (state === 'ended') return 'Expired';
  return state === 'disabled' ? 'Disabled' : String(ready.reason ?? 'Pending');
}

/**
 * @param {Json} object
 * @param {string} kind
 * @param {string} [whole]
 */
function reachOf({ metadata = {}, spec = {} }, kind, whole) {
  if (kind === 'VirtualClusterInstanceKubeConfig')
    return `virtual cluster ${spec.virtualClusterInstance ?? metadata.name} in ${metadata.namespace}`;
  if (spec.scope === undefined && spec.accessKey !== undefined) return `what ${spec.accessKey} reaches`;
  return describeScope(spec.scope, whole);
}

/** @param {Json} object */
function ownerOf({ metadata = {}, spec = {} }) {
  if (spec.team) return `team:${spec.team}`;
  return String(spec.user ?? spec.subject ?? metadata.annotations?.[requester] ?? '');
}

/**
 * @param {Credential} credential
 * @param {string} text In small letters.
 */
export const matches = ({ name, title, reach, state, reason, owner }, text) =>
  [name, title, reach, state, reason, owner].some((each) => each.toLowerCase().includes(text));

/** All credentials of one person, as the tree in which one ends with another. */
export class Credentials {
  /** @type {Map<string, Credential>} */
  #all = new Map();
  /** @type {readonly Row[] | undefined} */
  #rows;

  /** @typedef {{ readonly credential: Credential, readonly depth: number }} Row */

  get size() {
    return this.#all.size;
  }

  /** @param {Credential} credential */
  put(credential) {
    this.#all.set(credential.id, credential);
    this.#rows = undefined;
  }

  /** @param {string} id */
  drop(id) {
    this.#all.delete(id);
    this.#rows = undefined;
  }

  /** @param {string} id */
  find(id) {
    return this.#all.get(id);
  }

  /**
   * Takes away those of a kind that a whole list did not hold.
   * @param {string} kind
   * @param {ReadonlySet<string>} seen
   */
  keep(kind, seen) {
    for (const { id, kind: own } of this.#all.values()) if (own === kind && !seen.has(id)) this.drop(id);
  }

  /** @returns {readonly Row[]} Parents in front of their children. */
  get rows() {
    this.#rows ??= this.#inOrder();
    return this.#rows;
  }

  /**
   * All that ends with this one.
   * @param {Credential} credential
   */
  below({ id }) {
    const at = this.rows.findIndex(({ credential }) => credential.id === id);
    const depth = this.rows[at]?.depth ?? 0;
    const rest = this.rows.slice(at + 1);
    const end = rest.findIndex((row) => row.depth <= depth);
    return (end === -1 ? rest : rest.slice(0, end)).map(({ credential }) => credential);
  }

  /** By the one above; those with none that is seen here, by the empty text. */
  #childrenByParent() {
    /** @type {Map<string, Credential[]>} */
    const children = new Map();
    for (const each of this.#all.values()) {
      const above = `OwnedAccessKey//${each.parent}`;
      const place = each.parent !== undefined && this.#all.has(above) ? above : '';
      const siblings = children.get(place);
      if (siblings === undefined) children.set(place, [each]);
      else siblings.push(each);
    }
    for (const siblings of children.values()) siblings.sort(byUse);
    return children;
  }

  #inOrder() {
    const children = this.#childrenByParent();
    /** @type {Row[]} */
    const rows = [];
    // A circle cannot be made, and would hang the page: each is shown once.
    const shown = new Set();
    const pending = (children.get('') ?? []).map((credential) => ({ credential, depth: 0 })).reverse();
    for (let row = pending.pop(); row !== undefined; row = pending.pop()) {
      const { credential, depth } = row;
      if (shown.has(credential.id)) continue;
      shown.add(credential.id);
      rows.push(row);
      const below = children.get(credential.id) ?? [];
      for (const child of below.toReversed()) pending.push({ credential: child, depth: depth + 1 });
    }
    return rows;
  }
}

const collator = new Intl.Collator('en', { numeric: true });

/**
 * Ended ones last, then by name.
 * @param {Credential} one
 * @param {Credential} other
 */
const byUse = (one, other) =>
  Number(one.state === 'ended') - Number(other.state === 'ended') ||
  collator.compare(one.title.slice(0, 200), other.title.slice(0, 200)) ||
  collator.compare(one.id, other.id);
