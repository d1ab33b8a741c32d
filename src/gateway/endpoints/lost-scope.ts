import { asObject, type JsonObject } from '../../api/json.ts';
import { type Reply, withWarning } from './reply.ts';

/** Says so where a change took the scope away: in a merge patch, `scope: null` means that, and not "nothing". */
export const warnOfLostScope = (reply: Reply, stored: JsonObject): Reply =>
  reply.status === 200 && hasScope(stored) && !hasScope(reply.body) ? withWarning(reply, lost) : reply;

const hasScope = ({ spec }: JsonObject): boolean => Object.hasOwn(asObject(spec), 'scope');

const lost =
  'spec.scope is gone: no scope of its own limits this credential any more; write scope: {} for one that may do nothing';
