import type { LiveCredential } from '../../api/live-credentials.ts';
import { extras } from '../../api/names.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { impersonationHeaders } from '../../kube/client/impersonation.ts';
import { compileScope } from '../../scope/gate/compile-scope.ts';
import type { Verdict } from '../index/verdict.ts';

/** The verdict on a token that the platform says is good here. Throws a TypeError for a user or group that no request may carry. */
export function toVerdict(credential: LiveCredential): Verdict {
  const { jti, name, user, groups, scopes, end } = credential;
  const uid = jti.slice(0, jti.lastIndexOf('.'));
  const identity = { kind: 'user', user, groups } as const;
  const extra = { [extras.accessKey]: [`${name}/${uid}`], [extras.accessKeyLimited]: ['true'] };
  return {
    record: toLiveRecord({ metadata: { name, uid }, spec: {} }, 'DirectClusterEndpointToken'),
    ancestors: [],
    identity,
    end,
    isLimited: true,
    // Projects are looked up for requests to the platform and to virtual clusters alone, and neither is served here.
    gates: scopes.map(({ scope }) => compileScope(scope, () => undefined)),
    gateOwners: scopes.map(({ owner }) => owner),
    scopes: JSON.stringify(scopes),
    impersonation: impersonationHeaders({ user, groups, extra }),
  };
}
