import { authorise } from '../../../scope/gate/authorise.ts';
import { apiPrefix, formatTarget, type RequestTarget } from '../../../scope/request-path.ts';
import { resolveRequest } from '../../../scope/requests/resolve-request.ts';
import type { Verdict } from '../../index/verdict.ts';

/** Stands for the namespace that a space is: a look at what there is takes any. */
const anyPlace = { namespace: 'any', isPlatform: true } as const;

/** Whether the scopes of a credential let it see what there is in that target. */
export function isTargetInScope({ gates }: Pick<Verdict, 'gates'>, target: RequestTarget): boolean {
  const path = formatTarget(target);
  if (path === undefined) return false;
  if (gates.length === 0) return true;
  const request = resolveRequest({
    ...{ method: 'GET', target: `${apiPrefix}${path}/version`, contentType: undefined },
  });
  return !('problem' in request) && authorise({ gates, request, place: anyPlace }).allowed;
}
