import { asObject, defined, type JsonObject } from '../../api/json.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { askAsHolder, findOwn, notFound, type OwnRequest, pathOf } from './own-request.ts';
import { readWhole } from './read-own.ts';
import { refuse } from './refusal.ts';
import { type Reply, toReply } from './reply.ts';
import { readObject } from './request-body.ts';
import { isDryRun } from './write-query.ts';

export async function deleteOwn(request: OwnRequest): Promise<Reply> {
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const options = await readDeleteOptions(request);
  if (!options.isDryRun) return await deleteRecord(request, record, options);
  // The API server shows the object only to those who may read all of them.
  const stored = await readWhole(request, record);
  if (stored === undefined) throw notFound(request);
  checkPreconditions(stored, options);
  return { status: 200, body: stored };
}

export interface GivenDeleteOptions {
  readonly isDryRun: boolean;
  readonly preconditions: JsonObject;
  readonly rest: JsonObject;
}

/** From the body, and from the query where it has none. */
export async function readDeleteOptions(request: OwnRequest): Promise<GivenDeleteOptions> {
  const body = (await readObject(request)) ?? {};
  const { query } = request;
  const seconds = query.get('gracePeriodSeconds');
  return {
    isDryRun: isDryRun(request) || (Array.isArray(body['dryRun']) && body['dryRun'].length > 0),
    preconditions: asObject(body['preconditions']),
    rest: defined({
      propagationPolicy: body['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined,
      orphanDependents: body['orphanDependents'],
      gracePeriodSeconds: body['gracePeriodSeconds'] ?? (seconds === null ? undefined : Number(seconds)),
    }),
  };
}

/** By its UID: another object of the name stays. */
export async function deleteRecord(
  request: OwnRequest,
  record: LiveRecord,
  { preconditions, rest }: Omit<GivenDeleteOptions, 'isDryRun'>,
): Promise<Reply> {
  const { uid } = record;
  if ((preconditions['uid'] ?? uid) !== uid) return refuse('ERR_OBJECT_CONFLICT', {});
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...rest, preconditions: { ...preconditions, uid } };
  // It may be the credential of this very request.
  request.leave();
  return toReply(await askAsHolder(request, { method: 'DELETE', path: pathOf(request.kind, record), body }));
}

function checkPreconditions(stored: JsonObject, { preconditions }: GivenDeleteOptions): void {
  const metadata = asObject(stored['metadata']);
  for (const field of ['uid', 'resourceVersion']) {
    if ((preconditions[field] ?? metadata[field]) !== metadata[field]) refuse('ERR_OBJECT_CONFLICT', {});
  }
}
