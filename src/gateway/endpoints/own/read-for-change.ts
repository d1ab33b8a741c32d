import { asObject, asText, type JsonObject } from '../../../api/json.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import { isNewerVersion } from '../../../kube/object.ts';
import { refuse } from '../shared/reply.ts';
import { untilVersion } from './list.ts';
import { isSelfOrAbove, notFound, type OwnRequest, readWhole } from './request.ts';

/**
 * Reads the object that is to be changed. The credential of the request, and a key above it, may have been stopped in a version that the
 * watch has not brought yet: until then the request looks good, and could undo that. Throws a Refusal.
 */
export async function readForChange(request: OwnRequest, record: LiveRecord): Promise<JsonObject> {
  const stored = await readWhole(request, record);
  if (stored === undefined) throw notFound(request);
  const resourceVersion = versionOf(stored);
  if (resourceVersion !== undefined && isSelfOrAbove(request, record))
    await untilVersion(request, { resourceVersion, isExact: false });
  return stored;
}

/** A later version than was read can only be a guess, and a stop in that version would be undone with it. Throws a Refusal. */
export function refuseGuessedVersion(sent: JsonObject, stored: JsonObject): void {
  const [named, read] = [versionOf(sent), versionOf(stored)];
  if (named !== undefined && read !== undefined && isNewerVersion(named, read))
    refuse('ERR_OBJECT_CONFLICT', {});
}

const versionOf = (object: JsonObject): string | undefined =>
  asText(asObject(object['metadata'])['resourceVersion']);
