import { asObject, asText, hasInexactNumber, isObject, type JsonObject } from '../../api/json.ts';
import { applyOwn } from './apply-own.ts';
import { applyJsonPatch, applyMergePatch, PatchProblem } from './json-patch.ts';
import { findOwn, notFound, type OwnRequest } from './own-request.ts';
import { readWhole, unlessReplaced } from './read-own.ts';
import { withoutCredentials } from './redaction.ts';
import { refuse } from './refusal.ts';
import { putOwn } from './replace-own.ts';
import type { Reply } from './reply.ts';
import { mediaTypeOf, parsePatch, readWholeBody } from './request-body.ts';
import { fitToPath } from './sent-object.ts';

type ApplyPatch = (shown: JsonObject, patch: unknown) => unknown;

const patches: Readonly<Record<string, ApplyPatch>> = {
  'application/json-patch+json': applyJsonPatch,
  'application/merge-patch+json': applyMergePatch,
};

export async function patchOwn(request: OwnRequest): Promise<Reply> {
  const type = mediaTypeOf(request.request.headers['content-type']);
  if (type === 'application/apply-patch+yaml') return await applyOwn(request);
  const apply = Object.hasOwn(patches, type) ? patches[type] : undefined;
  if (apply === undefined) return refuse('ERR_BODY_TYPE', {});
  if (findOwn(request) === undefined) throw notFound(request);
  const patch = parsePatch(await readWholeBody(request));
  return await patchStored(request, (shown) => apply(shown, patch));
}

/** Others may write at the same time. */
const maxTries = 5;

/**
 * The API server never sees a patch: one could copy a key to where everybody reads it, and a refusal would print the object. The
 * gateway applies it to what the holder may see and sends the result as a whole.
 */
async function patchStored(request: OwnRequest, patch: (shown: JsonObject) => unknown): Promise<Reply> {
  const before = request.held.size;
  for (let tries = 1; ; tries++) {
    request.held.giveBack(request.held.size - before);
    const record = findOwn(request);
    if (record === undefined) throw notFound(request);
    const stored = await readWhole(request, record);
    if (stored === undefined) throw notFound(request);
    const patched = asPatched(withoutCredentials(stored), patch);
    const version = asText(asObject(patched['metadata'])['resourceVersion']);
    const present = asText(asObject(stored['metadata'])['resourceVersion']);
    const reply = await putOwn(request, withVersion(fitToPath(request, patched), version ?? present), stored);
    // Who names a version wants to know that there is another one.
    const isOther = version !== undefined && version !== present;
    if (reply.status !== 409 || isOther || tries === maxTries)
      return await unlessReplaced(request, record, reply);
  }
}

function asPatched(shown: JsonObject, patch: (shown: JsonObject) => unknown): JsonObject {
  try {
    const patched = patch(shown);
    if (!isObject(patched)) return refuse('ERR_PATCH', { problem: 'it leaves no object' });
    // Of the stored object, which was read here: it would be changed without a word.
    return hasInexactNumber(patched) ? refuse('ERR_PATCH', { problem: keptRoughly }) : patched;
  } catch (error) {
    if (error instanceof PatchProblem) return refuse('ERR_PATCH', { problem: error.message });
    throw error;
  }
}

const keptRoughly =
  'the object has a whole number beyond 2^53, which the patch would change; apply it instead';

const withVersion = (object: JsonObject, resourceVersion: string | undefined): JsonObject => ({
  ...object,
  metadata: { ...asObject(object['metadata']), resourceVersion },
});
