import type { JsonObject } from '../../api/json.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { readDeleteOptions } from './delete-options.ts';
import { deleteRecord } from './delete-own.ts';
import { readWantedVersion } from './list-options.ts';
import { behind, ownIn, readPage } from './list-own.ts';
import { untilVersion } from './list-version.ts';
import type { OwnRequest } from './own-request.ts';
import { isAboutObject, presentUID, readWhole } from './read-own.ts';
import type { Reply } from './reply.ts';
import type { ObjectFilter } from './selectors.ts';
import { untilEnded } from './until-ended.ts';

/** One's own that the selectors select, one after the other. The credential of the request and those above it are the last. */
export async function deleteAllOwn(request: OwnRequest): Promise<Reply> {
  const options = await readDeleteOptions(request);
  const { selects, limit, place } = readPage(request);
  await untilVersion(request, readWantedVersion(request.query));
  const deleted: LiveRecord[] = [];
  for (const record of behind(ownIn(request), place)) {
    // The credential may have ended meanwhile.
    if (request.response.destroyed || deleted.length >= limit) break;
    if (!(await isSelected(request, record, selects))) continue;
    const reply = options.isDryRun ? undefined : await deleteRecord(request, record, options);
    if (reply !== undefined && reply.status >= 400 && !(await isGone(request, record, reply)))
      return stopped(reply, deleted.length, record);
    deleted.push(record);
  }
  if (!options.isDryRun) await untilEnded(request, deleted);
  return { status: 200, body: success(deleted.length) };
}

async function isSelected(request: OwnRequest, record: LiveRecord, selects: ObjectFilter): Promise<boolean> {
  const stored = await readWhole(request, record);
  request.held.giveBack(request.held.size);
  return stored !== undefined && selects(stored);
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
