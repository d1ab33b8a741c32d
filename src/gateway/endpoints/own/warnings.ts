import { isDeepStrictEqual } from 'node:util';
import { asObject, asText, asTexts, isSet, type JsonObject } from '../../../api/json.ts';
import { finalizers } from '../../../api/names.ts';
import type { TrustedIssuer } from '../../../api/trusted-issuer.ts';
import { toLiveRecord } from '../../../credentials/live-record.ts';
import type { Gate } from '../../../scope/gate/gate.ts';
import { type IsThere, missingTargets, missingTargetsText } from '../../../scope/missing-targets.ts';
import type { RequestTarget } from '../../../scope/request-path.ts';
import type { Verdict } from '../../index/verdict.ts';
import { type Reply, withWarning } from '../shared/reply.ts';
import { ownKey } from './checks.ts';
import { isDryRun, type OwnRequest } from './request.ts';
import { withSpecWarnings } from './spec-warnings.ts';

interface StoredObject {
  readonly object: JsonObject;
  /** As it was before; absent at a creation. */
  readonly stored?: JsonObject;
}

/** The reply to a creation or a change, with all that its sender should know of it. */
export function withChangeWarnings(request: OwnRequest, answer: Reply, change: StoredObject): Reply {
  const { kind, services } = request;
  const told = warnOfWiderScope(request, withSpecWarnings(answer, { kind, ...change }), change);
  if (told.status !== 200 && told.status !== 201) return told;
  const unread = untrustedIssuer(change, services.settings.trustedIssuers);
  const reply = unread === undefined ? told : withWarning(told, unread);
  // It would tell what there is, as often as anyone asks, and nothing is made for it.
  if (isDryRun(request)) return reply;
  const unmatched = unmatchedScope(kind, change, services.targetRecords.known.has);
  return unmatched === undefined ? reply : withWarning(reply, unmatched);
}

/** An entry about an issuer that the settings do not name fits no token. */
export function untrustedIssuer(
  { object, stored }: StoredObject,
  trusted: readonly Pick<TrustedIssuer, 'issuer'>[],
): string | undefined {
  const [exchange, old] = [object, stored].map((each) => asObject(each?.['spec'])['exchange']);
  const rules = asObject(exchange)['tokens'];
  if (!Array.isArray(rules) || isDeepStrictEqual(exchange, old)) return undefined;
  const index = rules.findIndex((rule) => !trusted.some(({ issuer }) => issuer === asObject(rule)['issuer']));
  return index < 0
    ? undefined
    : `spec.exchange.tokens[${index}].issuer: LATCHKEY_TRUSTED_ISSUERS does not name it, so no token fits; ask who runs the platform to add it`;
}

type Kind = OwnRequest['kind'];

/** The status says so some seconds later, where few look. */
export function unmatchedScope(
  kind: Kind,
  { object, stored }: StoredObject,
  isThere: IsThere,
): string | undefined {
  const [spec, old] = [asObject(object['spec']), asObject(stored?.['spec'])];
  const isSame = ['scope', 'rules'].every((field) => isDeepStrictEqual(spec[field], old[field]));
  const missing = isSame ? undefined : missingTargets(toLiveRecord(object, kind), isThere);
  return missing && `spec.scope: ${missingTargetsText(missing)}`;
}

/** `changed`: the whole object as its sender wants it. One that was not read before may leave out what it does not know. */
export function warnOfKeptFinalizer(
  reply: Reply,
  {
    kind,
    changed,
    stored,
  }: { readonly kind: Kind; readonly changed: JsonObject; readonly stored: JsonObject },
): Reply {
  const [metadata, old] = [asObject(changed['metadata']), asObject(stored['metadata'])];
  const finalizer = finalizers[kind];
  const isTakenOff =
    isSet(metadata['uid']) &&
    !asTexts(metadata['finalizers']).includes(finalizer) &&
    asTexts(old['finalizers']).includes(finalizer);
  if (reply.status !== 200 || isSet(old['deletionTimestamp']) || !isTakenOff) return reply;
  return withWarning(
    reply,
    `metadata.finalizers: ${finalizer} stays, because the credential is ended before the object goes; delete the object, and it comes off by itself`,
  );
}

/** Says so where a change took the scope away: in a merge patch, `scope: null` means that, and not "nothing". */
export const warnOfLostScope = (reply: Reply, stored: JsonObject): Reply =>
  reply.status === 200 && hasScope(stored) && !hasScope(reply.body) ? withWarning(reply, lost) : reply;

const hasScope = ({ spec }: JsonObject): boolean => Object.hasOwn(asObject(spec), 'scope');

const lost =
  'spec.scope is gone: no scope of its own limits this credential any more; write scope: {} for one that may do nothing';

/** A child that asks for more than its parent has is stored as it is written, and is worth less than it looks. */
function warnOfWiderScope(
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
