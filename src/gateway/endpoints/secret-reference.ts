import { isDeepStrictEqual } from 'node:util';
import { asObject, type JsonObject } from '../../api/json.ts';
import type { Verdict } from '../index/verdict.ts';
import { refuse } from './refusal.ts';
import { isLeftOut } from './sent-object.ts';

/**
 * A credential with a scope makes and changes no Secrets, and the operator would do it in its place where `spec.secretRef` says. A
 * reference that is stored already may stay. Throws a Refusal.
 */
export function refuseNewSecret(
  { gates }: Pick<Verdict, 'gates'>,
  object: JsonObject,
  stored: JsonObject = {},
): void {
  if (gates.length === 0) return;
  const sent = secretRefOf(object);
  if (!isLeftOut(sent) && !isDeepStrictEqual(sent, secretRefOf(stored))) refuse('ERR_SECRET_REFERENCE', {});
}

const secretRefOf = (object: JsonObject): unknown => asObject(object['spec'])['secretRef'];
