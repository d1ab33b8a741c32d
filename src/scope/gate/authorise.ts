import { group } from '../../api/names.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { Gate, GateEntry } from './gate.ts';
import { isProtected, needsName } from './sensitive.ts';

export interface ScopeQuestion {
  /** Of the credential and of each ancestor that has a scope. A request must pass all of them. */
  readonly gates: readonly Gate[];
  readonly request: RequestMeaning;
  readonly place: TargetLocation;
}

/** The target of a request, as far as scopes care. */
export interface TargetLocation {
  /** Of a space: the namespace that it is. Without it every request to a space is denied. */
  readonly namespace?: string | undefined;
  /** Whether it is the platform's own API server, under whatever name. Not known: it counts as the platform. */
  readonly isPlatform: boolean;
}

export interface ScopeDenial {
  readonly allowed: false;
  readonly reason: DenialReason;
  /** Index of the gate that denies; absent where no scope is to blame. */
  readonly gate?: number;
}

/**
 * `Target`: no entry reaches the target. `Request`: none allows the request. `Unnamed`: it takes a rule that names the resource.
 * `OutsideSpace`: it is about something else than the namespace of the space.
 */
export type DenialReason = 'Target' | 'Request' | 'Unnamed' | 'OutsideSpace';

export type ScopeAnswer = { readonly allowed: true } | ScopeDenial;

const allowed: ScopeAnswer = { allowed: true };

/** Whether the scopes of a credential let a request pass. The rights of its identity are another matter. */
export function authorise({ gates, request, place }: ScopeQuestion): ScopeAnswer {
  if (request.target.kind === 'space' && !isInSpace(request, place.namespace)) {
    return { allowed: false, reason: 'OutsideSpace' };
  }
  for (let index = 0; index < gates.length; index++) {
    const reason = denialBy(gates[index], request, place);
    if (reason !== undefined) return { allowed: false, reason, gate: index };
  }
  return allowed;
}

/** A plain loop: it runs for every request, and must allocate nothing. */
function denialBy(
  gate: Gate | undefined,
  request: RequestMeaning,
  { isPlatform }: TargetLocation,
): DenialReason | undefined {
  const { target } = request;
  if (gate?.agentOf !== undefined) return denialOfAgent(gate, request);
  if (target.kind === 'management' && isAlwaysAllowed(request)) return undefined;
  let reached = false;
  for (const entry of gate?.entries ?? []) {
    if (!entry.reaches(target)) continue;
    if (passes(entry, request, isPlatform)) return undefined;
    reached = true;
  }
  if (!reached) return 'Target';
  return needsName(request) ? 'Unnamed' : 'Request';
}

/** It may not even ask who it is. */
function denialOfAgent({ entries }: Gate, request: RequestMeaning): DenialReason | undefined {
  const reaching = entries.filter(({ reaches }) => reaches(request.target));
  if (reaching.length === 0) return 'Target';
  return reaching.some(({ allows }) => allows(request)) ? undefined : 'Request';
}

function passes(entry: GateEntry, request: RequestMeaning, isPlatform: boolean): boolean {
  if (isAlwaysAllowed(request)) return true;
  if (!entry.allows(request)) return false;
  if (entry.isWhole && !isProtected(request, isPlatform)) return true;
  return !needsName(request) || entry.names(request);
}

/** A space is one namespace: what is in it, and a look at the namespace itself. This binds every credential, scoped or not. */
function isInSpace(request: RequestMeaning, namespace: string | undefined): boolean {
  if (namespace === undefined || namespace === '') return false;
  if (isAlwaysAllowed(request)) return true;
  if (!request.isResourceRequest || request.namespace !== namespace) return false;
  if (request.resource !== 'namespaces') return true;
  return request.apiGroup === '' && request.verb === 'get' && request.subresource === '';
}

/** True for questions that every credential may ask of a target that its scope reaches: who it is, what it may do, and what there is. */
function isAlwaysAllowed(request: RequestMeaning): boolean {
  return request.isResourceRequest ? isSelfReview(request) : isDiscovery(request);
}

const selfReviews: readonly (readonly [string, string])[] = [
  ['authorization.k8s.io', 'selfsubjectaccessreviews'],
  ['authorization.k8s.io', 'selfsubjectrulesreviews'],
  ['authentication.k8s.io', 'selfsubjectreviews'],
];

function isSelfReview(request: RequestMeaning): boolean {
  const { apiGroup, resource } = request;
  if (request.verb !== 'create' || request.subresource !== '') return false;
  if (request.namespace !== '' || request.name !== '') return false;
  if (apiGroup === group) return request.target.kind === 'management' && resource === 'selves';
  return selfReviews.some((review) => review[0] === apiGroup && review[1] === resource);
}

/** `/api` and `/apis/<group>/<version>` list resources; what is below is a resource. */
function isDiscovery({ verb, path }: RequestMeaning): boolean {
  if (verb !== 'get' && verb !== 'head') return false;
  return /^\/(?:api(?:\/[^/]+)?|apis(?:\/[^/]+){0,2}|openapi(?:\/.+)?|version)\/?$/.test(path);
}
