import type { JsonObject } from '../../api/json.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { deleteRecord, isSelfOrAbove, readDeleteOptions } from './delete-own.ts';
import { ownIn, readSelection } from './list-own.ts';
import type { OwnRequest } from './own-request.ts';
import { isAboutObject, presentUID, readWhole } from './read-own.ts';
import type { Reply } from './reply.ts';
import { untilEnded } from './until-ended.ts';

/** One's own that the selectors select, one after the other. The credential of the request and those above it are the last. */
export async function deleteAllOwn(request: OwnRequest): Promise<Reply> {
  const options = await readDeleteOptions(request);
  const { selects } = readSelection(request);
  const all = ownIn(request);
  const last = all.filter((record) => isSelfOrAbove(request, record));
  const first = all.filter((record) => !last.includes(record));
  const deleted: LiveRecord[] = [];
  for (const record of [...first, ...last]) {
    // The credential may have ended meanwhile.
    if (request.response.destroyed) break;
    const stored = await readWhole(request, record);
    request.held.giveBack(request.held.size);
    if (stored === undefined || !selects(stored)) continue;
    const reply = options.isDryRun ? undefined : await deleteRecord(request, record, options);
    if (reply !== undefined && reply.status >= 400 && !(await isGone(request, record, reply)))
      return stopped(reply, deleted.length, record);
    deleted.push(record);
  }
  if (!options.isDryRun) await untilEnded(request, deleted);
  return { status: 200, body: success(deleted.length) };
}

/** Somebody else deleted it; another one may have its name already. */
const isGone = async (request: OwnRequest, record: LiveRecord, reply: Reply): Promise<boolean> =>
  isAboutObject(reply) && (await presentUID(request, record)) !== record.uid;

const stopped = (reply: Reply, deleted: number, { key }: LiveRecord): Reply => ({
  ...reply,
  body: { ...reply.body, message: `deleted ${deleted}, then ${key} was refused: ${reply.body['message']}` },
});

const success = (deleted: number): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  message: `deleted ${deleted}`,
  code: 200,
});
