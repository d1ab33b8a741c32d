import { createHash } from 'node:crypto';
import type { LiveCredential, LiveScope } from '../../api/live-credentials.ts';
import { extras } from '../../api/names.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { impersonationHeaders } from '../../kube/client/impersonation.ts';
import { compileScope } from '../../scope/gate/compile-scope.ts';
import type { Gate } from '../../scope/gate/gate.ts';
import type { Verdict } from '../index/verdict.ts';

/** The verdict on a token that the platform says is good here. Throws a TypeError for a user or group that no request may carry. */
export function toVerdict(credential: Omit<LiveCredential, 'hash' | 'tokenID'>): Verdict {
  const { uid, name, user, groups, scopes, end } = credential;
  const identity = { kind: 'user', user, groups } as const;
  const extra = { [extras.accessKey]: [`${name}/${uid}`], [extras.accessKeyLimited]: ['true'] };
  return {
    record: toLiveRecord({ metadata: { name, uid }, spec: {} }, 'DirectClusterEndpointToken'),
    ancestors: [],
    identity,
    end,
    isLimited: true,
    gates: scopes.map(({ scope }) => gateOf(scope)),
    gateOwners: scopes.map(({ owner }) => owner),
    // Only ever compared, and the text can be long.
    scopes: createHash('sha256').update(JSON.stringify(scopes)).digest('base64'),
    impersonation: impersonationHeaders({ user, groups, extra }),
  };
}

type Scope = LiveScope['scope'];

/** A gate is several times as large as its scope, and tokens have the scopes above them in common. */
const gates = new WeakMap<Scope, Gate>();

function gateOf(scope: Scope): Gate {
  const known = gates.get(scope);
  if (known !== undefined) return known;
  // Projects are looked up for requests to the platform and to virtual clusters alone, and neither is served here.
  const gate = compileScope(scope, () => undefined);
  gates.set(scope, gate);
  return gate;
}
