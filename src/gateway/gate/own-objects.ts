import { version } from '../../api/names.ts';
import { isCredentialRequest } from '../../scope/gate/sensitive.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import type { Verdict } from '../index/verdict.ts';

const verbs: ReadonlySet<string> = new Set([
  // Of a method that nothing is done with: the answer says which ones there are.
  '',
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]);

/**
 * Whether a request is about credentials of one's own. For the holder of an access key the gateway answers it itself: no scope
 * needs to allow it, because a key with a scope has itself and its children only. Tokens and kubeconfigs are for other things.
 */
export const isOwnRequest = (
  request: RequestMeaning,
  { record, gates }: Pick<Verdict, 'record' | 'gates'>,
): boolean =>
  record.kind === 'OwnedAccessKey' &&
  !isAgent({ gates }) &&
  isCredentialRequest(request) &&
  request.target.kind === 'management' &&
  request.apiVersion === version &&
  (request.subresource === '' ? verbs.has(request.verb) : isStatusRead(request));

/** Whether it is for the stream of a direct endpoint, and for nothing else. */
export const isAgent = ({ gates }: Pick<Verdict, 'gates'>): boolean =>
  gates.some(({ agentOf }) => agentOf !== undefined);

/** The whole object, as without the subresource. */
const isStatusRead = ({ verb, name, subresource }: RequestMeaning): boolean =>
  subresource === 'status' && verb === 'get' && name !== '';
