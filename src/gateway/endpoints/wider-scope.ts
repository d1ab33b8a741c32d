import { isDeepStrictEqual } from 'node:util';
import { asObject, asText, type JsonObject } from '../../api/json.ts';
import type { Gate } from '../../scope/gate/gate.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import type { Verdict } from '../index/verdict.ts';
import { ownKey } from './named-key.ts';
import type { OwnRequest } from './own-request.ts';
import { type Reply, withWarning } from './reply.ts';

/** A child that asks for more than its parent has is stored as it is written, and is worth less than it looks. */
export function warnOfWiderScope(
  { services, sender }: OwnRequest,
  reply: Reply,
  { object, stored }: { readonly object: JsonObject; readonly stored?: JsonObject },
): Reply {
  if (reply.status !== 200 && reply.status !== 201) return reply;
  const { accessKey, scope } = asObject(object['spec']);
  if (stored !== undefined && isDeepStrictEqual(scope, asObject(stored['spec'])['scope'])) return reply;
  const parent = ownKey(services.index, sender.verdict, asText(accessKey));
  const found = parent && services.index.find(parent.status.credentialHash ?? '');
  const problem = found !== undefined && 'gates' in found ? unreachedEntry(scope, found) : undefined;
  return problem === undefined ? reply : withWarning(reply, problem);
}

type Limits = Pick<Verdict, 'gates' | 'gateOwners'>;

/**
 * The first entry of the scope of a child that no request can pass, because a scope above it has no entry for the same target: it is
 * stored as it is, and allows nothing. Only entries that name one target are looked at.
 */
export function unreachedEntry(scope: unknown, { gates, gateOwners }: Limits): string | undefined {
  for (const [list, read] of Object.entries(targets)) {
    for (const [index, entry] of entriesIn(scope, list).entries()) {
      const target = read(asObject(entry));
      const gate = target === undefined ? -1 : gates.findIndex((each) => !reaches(each, target));
      if (gate >= 0)
        return `spec.scope.${list}[${index}]: the scope of ${gateOwners[gate] ?? 'a key above'} has no entry for it, so it allows nothing`;
    }
  }
  return undefined;
}

function entriesIn(scope: unknown, list: string): readonly unknown[] {
  const entries = asObject(scope)[list];
  return Array.isArray(entries) ? entries : [];
}

const reaches = ({ entries }: Gate, target: RequestTarget): boolean =>
  entries.some((entry) => entry.reaches(target));

const targets: Readonly<Record<string, (entry: JsonObject) => RequestTarget | undefined>> = {
  clusters: (entry) => {
    const cluster = nameIn(entry, 'cluster');
    return cluster === undefined ? undefined : { kind: 'cluster', cluster };
  },
  spaces: (entry) => {
    const [project, space] = [nameIn(entry, 'project'), nameIn(entry, 'space')];
    return project === undefined || space === undefined ? undefined : { kind: 'space', project, space };
  },
  virtualClusters: (entry) => {
    const [project, virtualCluster] = [nameIn(entry, 'project'), nameIn(entry, 'virtualCluster')];
    return project === undefined || virtualCluster === undefined
      ? undefined
      : { kind: 'virtualCluster', project, virtualCluster };
  },
};

const nameIn = (entry: JsonObject, field: string): string | undefined => {
  const name = asText(entry[field]);
  return name === '*' ? undefined : name;
};
