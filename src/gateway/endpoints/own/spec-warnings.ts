import { isDeepStrictEqual } from 'node:util';
import type { CredentialKind } from '../../../api/credential-kinds.ts';
import { asObject, asText, type JsonObject } from '../../../api/json.ts';
import { oneYear, tokenDefaultTTL, tokenMaxTTL } from '../../../credentials/life.ts';
import { compileScope } from '../../../scope/gate/compile-scope.ts';
import { isKnownRole } from '../../../scope/gate/roles.ts';
import { type Reply, withWarning } from '../shared/reply.ts';

/** A spec that is to be stored, and the one before; absent at a creation. */
interface Change {
  readonly kind: CredentialKind;
  readonly spec: JsonObject;
  readonly former: JsonObject | undefined;
}

type Warn = (change: Change) => string | undefined;

/** Each says nothing as long as its field stays as it is: no one would read a warning with every sync. */
const warnings: readonly Warn[] = [
  onChange(
    'scope.rules',
    'deprecated; use projects, spaces, virtualClusters, clusters and roles of spec.scope',
  ),
  onChange('rules', 'deprecated; use projects, spaces, virtualClusters, clusters and roles of spec.scope'),
  onChange('allowPlatformCli', 'deprecated; use the role platform-cli in spec.scope.roles'),
  onChange('scope.allowLoftCli', 'deprecated; use the role platform-cli in spec.scope.roles'),
  onChange('parent', 'deprecated and without effect; the parent of a key is spec.accessKey'),
  onChange('oidcLogin', 'deprecated; use spec.identity'),
  aboveMaximum,
  laterEnd,
  nothingAllowed,
  unknownRole,
  deadEntry,
  deadVerb,
  noEnd,
  longLife,
];

/** Warns people of what does less than it seems to in the spec of a credential. */
export const specWarnings = (change: Change): readonly string[] =>
  warnings.flatMap((warn) => warn(change) ?? []);

/** The reply to a change, with warnings if it was accepted. */
export function withSpecWarnings(reply: Reply, { object, stored, kind }: ChangedObject): Reply {
  if (reply.status >= 300) return reply;
  const former = stored && asObject(stored['spec']);
  const texts = specWarnings({ kind, spec: asObject(object['spec']), former });
  return texts.reduce(withWarning, reply);
}

interface ChangedObject {
  readonly kind: CredentialKind;
  readonly object: JsonObject;
  /** As it was before. */
  readonly stored?: JsonObject;
}

function valueAt(spec: JsonObject | undefined, path: string): unknown {
  const [first = '', second] = path.split('.');
  const value = asObject(spec)[first];
  return second === undefined ? value : asObject(value)[second];
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const isChanged = ({ spec, former }: Change, path: string): boolean =>
  !isDeepStrictEqual(valueAt(spec, path), valueAt(former, path));

function onChange(path: string, text: string): Warn {
  return (change) =>
    isNothing(valueAt(change.spec, path)) || !isChanged(change, path) ? undefined : `spec.${path}: ${text}`;
}

const seconds = (spec: JsonObject | undefined, field: 'ttl' | 'certificateTTL'): number =>
  Number(asObject(spec)[field] ?? 0);

function aboveMaximum(change: Change): string | undefined {
  const { kind, spec } = change;
  if (kind === 'DirectClusterEndpointToken' && seconds(spec, 'ttl') > tokenMaxTTL && isChanged(change, 'ttl'))
    return `spec.ttl: above the maximum of ${tokenMaxTTL} seconds (90 days); the token ends earlier, see status.expirationTimestamp`;
  const isLong = kind === 'VirtualClusterInstanceKubeConfig' && seconds(spec, 'certificateTTL') > oneYear;
  return isLong && isChanged(change, 'certificateTTL')
    ? `spec.certificateTTL: above the maximum of ${oneYear} seconds (365 days), unless LATCHKEY_MAX_KUBECONFIG_TTL allows more; the kubeconfig ends earlier, see status.expirationTimestamp`
    : undefined;
}

function laterEnd({ kind, spec, former }: Change): string | undefined {
  if (former === undefined || kind === 'OwnedAccessKey' || !isNothing(spec['accessKey'])) return undefined;
  if (lifeOf(kind, spec) <= lifeOf(kind, former)) return undefined;
  return kind === 'DirectClusterEndpointToken'
    ? 'spec.ttl: the end of a token without spec.accessKey never moves later; make another token'
    : 'spec.certificateTTL: the end of a kubeconfig without spec.accessKey never moves later; make another kubeconfig';
}

/** Absent means a day; 0 a day, or for a kubeconfig a year. */
function lifeOf(kind: CredentialKind, spec: JsonObject): number {
  if (kind === 'DirectClusterEndpointToken') return seconds(spec, 'ttl') || tokenDefaultTTL;
  return Number(spec['certificateTTL'] ?? tokenDefaultTTL) || oneYear;
}

/** An effective scope without any entry: `{}`, null, or lists that are all empty. */
function nothingAllowed(change: Change): string | undefined {
  const { spec, former } = change;
  const fields = ['rules', 'allowPlatformCli'];
  const isEmpty =
    Object.hasOwn(spec, 'scope') &&
    Object.values(asObject(spec['scope'])).every(isNothing) &&
    fields.every((field) => isNothing(spec[field]));
  const isNew = former === undefined || ['scope', ...fields].some((field) => isChanged(change, field));
  return isEmpty && isNew
    ? 'spec.scope: has no entry, so it allows nothing but asking who one is; name what may be used'
    : undefined;
}

function unknownRole(change: Change): string | undefined {
  const named = valueAt(change.spec, 'scope.roles');
  if (!Array.isArray(named) || !isChanged(change, 'scope.roles')) return undefined;
  const index = named.findIndex((entry) => !isKnownRole(asObject(entry)['role']));
  return index < 0
    ? undefined
    : `spec.scope.roles[${index}].role: there is no role of that name, so it allows nothing; there are platform-user, platform-cli (also loft-cli), network-peer, agent, vcluster, runner and workspace`;
}

/** As the gateway reads it. Roles have a warning of their own. */
function deadEntry(change: Change): string | undefined {
  const scope = valueAt(change.spec, 'scope');
  if (scope === undefined || !isChanged(change, 'scope')) return undefined;
  const { roles: _, allowLoftCli: __, ...entries } = asObject(scope);
  const [problem] = compileScope(entries, () => undefined).warnings;
  return problem === undefined ? undefined : `spec.${problem}`;
}

/** Of requests for resources, of RBAC, and of paths. */
const verbs: ReadonlySet<unknown> = new Set([
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['use', 'bind', 'escalate', 'impersonate', 'approve', 'sign', 'attest', 'proxy', 'head', 'options'],
  ...['post', 'put'],
]);

function deadVerb(change: Change): string | undefined {
  for (const path of ['scope.rules', 'rules']) {
    const rules = valueAt(change.spec, path);
    if (!Array.isArray(rules) || !isChanged(change, path)) continue;
    const index = rules.findIndex((rule) => {
      const named = asObject(rule)['verbs'];
      return Array.isArray(named) && named.some((verb) => !verbs.has(verb));
    });
    if (index >= 0)
      return `spec.${path}[${index}].verbs: one of them is no verb, and no request has it; the star has no meaning here, so leave verbs out for all of them`;
  }
  return undefined;
}

function noEnd({ kind, spec, former }: Change): string | undefined {
  if (kind !== 'OwnedAccessKey' || !isNothing(spec['accessKey']) || seconds(spec, 'ttl') > 0)
    return undefined;
  return former === undefined || seconds(former, 'ttl') > 0
    ? 'spec.ttl: without it, or with 0, the key never ends; set its life in seconds'
    : undefined;
}

function longLife(change: Change): string | undefined {
  const ttl = seconds(change.spec, 'ttl');
  if (change.kind !== 'OwnedAccessKey' || ttl <= oneYear || !isChanged(change, 'ttl')) return undefined;
  const days = Math.floor((ttl % oneYear) / 86_400);
  const parts = [counted(Math.floor(ttl / oneYear), 'year'), ...(days === 0 ? [] : [counted(days, 'day')])];
  return `spec.ttl: it is in seconds, and this is more than a year: ${parts.join(' and ')}`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Explanations of a schema's words about fields that people often write in another way. */
const hints: readonly (readonly [pattern: RegExp, hint: (field: string) => string])[] = [
  [
    /\b(spec\.(?:ttl|certificateTTL|renewBefore)) in body must be of type integer/,
    (field) =>
      `${field} is a whole number of seconds without quotes, such as 86400 for a day; "24h" and "86400" are none`,
  ],
  // Of the three kinds only a kubeconfig has no such field.
  [
    /\bunknown field "spec\.(ttl)"/,
    (field) => `a kubeconfig has no spec.${field}: its life is spec.certificateTTL, in seconds`,
  ],
  [
    /\bspec\.scope\.(clusters|projects)\[\d+\] in body must be of type object/,
    (list) => `each entry of spec.scope.${list} is an object: write {${list.slice(0, -1)}: <name>}`,
  ],
  [
    /\bspec\.scope\.(spaces|virtualClusters)\[\d+\] in body must be of type object/,
    (list) =>
      `each entry of spec.scope.${list} is an object: write {project: <project>, ${list.slice(0, -1)}: <name>}`,
  ],
];

/** Says what a refusal by the schema leaves out. It repeats nothing that was sent. */
export function withSchemaHint(reply: Reply): Reply {
  const hint = schemaHint(reply.status, reply.body);
  return hint === undefined ? reply : withWarning(reply, hint);
}

export function schemaHint(status: number, body: JsonObject): string | undefined {
  if (status !== 422 && status !== 400) return undefined;
  const message = asText(body['message']) ?? '';
  for (const [pattern, hint] of hints) {
    const field = pattern.exec(message)?.[1];
    if (field !== undefined) return hint(field);
  }
  return undefined;
}
