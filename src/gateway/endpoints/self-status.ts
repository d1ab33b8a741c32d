import { formatInstant } from '../../api/instant.ts';
import { defined, type JsonObject } from '../../api/json.ts';
import type { Identity } from '../../credentials/identity.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { type OwnedScope, ownedScopes, type Verdict } from '../index/verdict.ts';

/** What a Self says about a credential: who it speaks for, what it may do, and how long. No secret. */
export function selfStatus(
  { record, ancestors, identity, end }: Pick<Verdict, 'record' | 'ancestors' | 'identity' | 'end'>,
  projectNamespacePrefix: string,
): JsonObject {
  const { kind, name, namespace, uid } = record;
  const scopes = ownedScopes(record, ancestors, projectNamespacePrefix) ?? [];
  return defined({
    ...namesOf(identity),
    subject: identity.user,
    groups: [...identity.groups, 'system:authenticated'],
    ...(kind === 'OwnedAccessKey' ? accessKeyOf(record, scopes) : {}),
    credential: defined({ kind, namespace, name, uid }),
    scopes: scopes.map(([owner, scope]) => defined({ ...objectOf(owner), scope })),
    expirationTimestamp: Number.isFinite(end) ? formatInstant(end) : undefined,
    projectNamespacePrefix,
  });
}

/** A subject is neither a user nor a team. */
function namesOf({ kind, user }: Identity): JsonObject {
  switch (kind) {
    case 'team':
      return { team: { name: user.replace(/^team:/, '') } };
    case 'subject':
      return {};
    case 'user':
    case 'requester':
      return { user: { name: user, username: user, subject: user } };
  }
}

function accessKeyOf(record: LiveRecord, scopes: readonly OwnedScope[]): JsonObject {
  const own = scopes.find(([owner]) => owner === record);
  return defined({ accessKey: record.name, accessKeyType: record.type, accessKeyScope: own?.[1] });
}

const objectOf = ({ kind, namespace, name }: LiveRecord): JsonObject => defined({ kind, namespace, name });
