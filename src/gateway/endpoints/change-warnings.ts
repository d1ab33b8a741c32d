import { isDeepStrictEqual } from 'node:util';
import { asObject, asTexts, isSet, type JsonObject } from '../../api/json.ts';
import { finalizers } from '../../api/names.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { type IsThere, missingTargets, missingTargetsText } from '../../scope/missing-targets.ts';
import { isDryRun, type OwnRequest } from './own-request.ts';
import { type Reply, withWarning } from './reply.ts';
import { withSpecWarnings } from './spec-warnings.ts';
import { warnOfWiderScope } from './wider-scope.ts';

interface StoredObject {
  readonly object: JsonObject;
  /** As it was before; absent at a creation. */
  readonly stored?: JsonObject;
}

/** The reply to a creation or a change, with all that its sender should know of it. */
export function withChangeWarnings(request: OwnRequest, reply: Reply, change: StoredObject): Reply {
  const { kind, services } = request;
  const told = warnOfWiderScope(request, withSpecWarnings(reply, { kind, ...change }), change);
  if (told.status !== 200 && told.status !== 201) return told;
  // It would tell what there is, as often as anyone asks, and nothing is made for it.
  if (isDryRun(request)) return told;
  const unmatched = unmatchedScope(kind, change, services.targetRecords.known.has);
  return unmatched === undefined ? told : withWarning(told, unmatched);
}

type Kind = OwnRequest['kind'];

/** The status says so some seconds later, where few look. */
export function unmatchedScope(
  kind: Kind,
  { object, stored }: StoredObject,
  isThere: IsThere,
): string | undefined {
  const [spec, old] = [asObject(object['spec']), asObject(stored?.['spec'])];
  const isSame = ['scope', 'rules'].every((field) => isDeepStrictEqual(spec[field], old[field]));
  const missing = isSame ? undefined : missingTargets(toLiveRecord(object, kind), isThere);
  return missing && `spec.scope: ${missingTargetsText(missing)}`;
}

/** `changed`: the whole object as its sender wants it. One that was not read before may leave out what it does not know. */
export function warnOfKeptFinalizer(
  reply: Reply,
  {
    kind,
    changed,
    stored,
  }: { readonly kind: Kind; readonly changed: JsonObject; readonly stored: JsonObject },
): Reply {
  const [metadata, old] = [asObject(changed['metadata']), asObject(stored['metadata'])];
  const finalizer = finalizers[kind];
  const isTakenOff =
    isSet(metadata['uid']) &&
    !asTexts(metadata['finalizers']).includes(finalizer) &&
    asTexts(old['finalizers']).includes(finalizer);
  if (reply.status !== 200 || isSet(old['deletionTimestamp']) || !isTakenOff) return reply;
  return withWarning(
    reply,
    `metadata.finalizers: ${finalizer} stays, because the credential is ended before the object goes; delete the object, and it comes off by itself`,
  );
}
