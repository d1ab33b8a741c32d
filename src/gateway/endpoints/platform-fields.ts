import { isDeepStrictEqual } from 'node:util';
import { asObject, asText, isObject, type JsonObject } from '../../api/json.ts';
import { ownedAccessKeys } from '../../api/resources.ts';
import { isObjectName } from '../../scope/request-path.ts';
import type { OwnRequest } from './own-request.ts';
import { refuse } from './refusal.ts';

/** What single sign-on and the platform itself put into an access key. Nothing is decided by it, but people and tools believe it. */
const fields = ['identity', 'identityRefresh', 'oidcProvider', 'oidcLogin', 'parent'];
const typesOfAnyone: readonly unknown[] = ['', 'User', 'Other'];

/** The first field of the platform that the object has otherwise than the stored one. */
export function changedPlatformField(object: JsonObject, stored: JsonObject = {}): string | undefined {
  const [sent, former] = [asObject(object['spec']), asObject(stored['spec'])];
  return [...fields, 'type'].find((name) => {
    const [value, before] = [contentOf(sent[name]), contentOf(former[name])];
    if (isDeepStrictEqual(value, before)) return false;
    return name !== 'type' || ![value, before].every((type) => typesOfAnyone.includes(type));
  });
}

/** Clients that know no absent fields send empty ones. */
const contentOf = (value: unknown): unknown =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0) ? '' : value;

/** Asks whether the holder may set what only the platform sets, where the object does. Throws a Refusal. */
export async function requirePlatformFields(
  request: OwnRequest,
  ...changed: Parameters<typeof changedPlatformField>
): Promise<void> {
  if (request.kind !== 'OwnedAccessKey') return;
  const field = changedPlatformField(...changed);
  if (field === undefined) return;
  const [object] = changed;
  const name = asText(asObject(object['metadata'])['name']) ?? '';
  const right = {
    verb: 'manage-platform-fields',
    resource: ownedAccessKeys.plural,
    namespace: '',
    // What is asked about is kept for a while: a longer name could fill the memory, and no object has it.
    name: isObjectName(name) ? name : '',
  };
  const { permissions } = request.services;
  const { identity } = request.sender.verdict;
  if (!(await permissions.isAllowed(identity, right))) refuse('ERR_PLATFORM_FIELD', { field });
}
