import { defined, isObject, type JsonObject } from '../../api/json.ts';
import { isInteger } from '../../scope/requests/list-query.ts';
import type { OwnRequest } from './own-request.ts';
import { refuse } from './refusal.ts';
import { readObject } from './request-body.ts';

export interface GivenDeleteOptions {
  readonly isDryRun: boolean;
  readonly preconditions: JsonObject;
  readonly rest: JsonObject;
}

/**
 * From the body, and from the query where it has none. Throws a Refusal: a dry run, and a delete of all where nothing is selected,
 * come no further than this.
 */
export async function readDeleteOptions(request: OwnRequest): Promise<GivenDeleteOptions> {
  const body = (await readObject(request)) ?? {};
  const { query } = request;
  const rest = defined({
    propagationPolicy: asPolicy(body['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined),
    orphanDependents: asFlag(body, 'orphanDependents'),
    gracePeriodSeconds: asSeconds(body) ?? secondsIn(query),
  });
  if (rest.propagationPolicy !== undefined && rest.orphanDependents !== undefined)
    return refuseValue('propagationPolicy and orphanDependents exclude each other');
  return {
    isDryRun: isDryRunOf([...query.getAll('dryRun'), ...asList(body, 'dryRun')]),
    preconditions: asPart(body, 'preconditions'),
    rest,
  };
}

const policies: ReadonlySet<unknown> = new Set(['Foreground', 'Background', 'Orphan']);

function asPolicy(value: unknown): unknown {
  if (value === undefined || policies.has(value)) return value;
  if (typeof value !== 'string') return refuseType('propagationPolicy', 'text');
  return refuseValue('propagationPolicy must be Foreground, Background or Orphan');
}

/** A run that is neither dry nor meant is refused. */
function isDryRunOf(values: readonly unknown[]): boolean {
  const isKnown = values.every((value) => value === 'All');
  return isKnown ? values.length > 0 : refuseValue('dryRun must be All');
}

function secondsIn(query: URLSearchParams): number | undefined {
  const text = query.get('gracePeriodSeconds') ?? undefined;
  if (!isInteger(text)) return refuse('ERR_QUERY', { problem: 'gracePeriodSeconds is no number' });
  return text === undefined ? undefined : Number(text);
}

function asSeconds(options: JsonObject): number | undefined {
  const value = options['gracePeriodSeconds'] ?? undefined;
  const isFit = value === undefined || Number.isInteger(value);
  return isFit ? (value as number | undefined) : refuseType('gracePeriodSeconds', 'whole number');
}

function asFlag(options: JsonObject, name: string): boolean | undefined {
  const value = options[name] ?? undefined;
  return value === undefined || typeof value === 'boolean' ? value : refuseType(name, 'boolean');
}

/** What asks for less than a deletion must never be passed over: an API server refuses it in another form. */
function asList(options: JsonObject, name: string): readonly unknown[] {
  const value = options[name] ?? [];
  return Array.isArray(value) ? value : refuseType(name, 'list');
}

function asPart(options: JsonObject, name: string): JsonObject {
  const value = options[name] ?? {};
  return isObject(value) ? value : refuseType(name, 'object');
}

const refuseValue = (problem: string): never => refuse('ERR_QUERY_INVALID', { problem });
const refuseType = (name: string, type: string): never =>
  refuse('ERR_BODY_UNREADABLE', { problem: `its ${name} is no ${type}` });
