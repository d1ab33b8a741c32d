import { asObject, type JsonObject } from '../../api/json.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { type GivenDeleteOptions, readDeleteOptions } from './delete-options.ts';
import { askAsHolder, findOwn, notFound, type OwnRequest, pathOf } from './own-request.ts';
import { readWhole, unlessReplaced } from './read-own.ts';
import { refuse } from './refusal.ts';
import { type Reply, toReply } from './reply.ts';
import { untilEnded } from './until-ended.ts';

export async function deleteOwn(request: OwnRequest): Promise<Reply> {
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const options = await readDeleteOptions(request);
  if (!options.isDryRun) {
    const reply = await deleteRecord(request, record, options);
    if (reply.status < 300) await untilEnded(request, [record]);
    return await unlessReplaced(request, record, reply);
  }
  // The API server shows the object only to those who may read all of them.
  const stored = await readWhole(request, record);
  if (stored === undefined) throw notFound(request);
  checkPreconditions(stored, options);
  return { status: 200, body: stored };
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
  if (isSelfOrAbove(request, record)) request.finish();
  return toReply(await askAsHolder(request, { method: 'DELETE', path: pathOf(request.kind, record), body }));
}

/** Without it the credential of this very request works no longer. */
export const isSelfOrAbove = ({ sender: { verdict } }: OwnRequest, { uid }: LiveRecord): boolean =>
  [verdict.record, ...verdict.ancestors].some((record) => record.uid === uid);

function checkPreconditions(stored: JsonObject, { preconditions }: GivenDeleteOptions): void {
  const metadata = asObject(stored['metadata']);
  for (const field of ['uid', 'resourceVersion']) {
    if ((preconditions[field] ?? metadata[field]) !== metadata[field]) refuse('ERR_OBJECT_CONFLICT', {});
  }
}
