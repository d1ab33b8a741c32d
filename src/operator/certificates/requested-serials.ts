import { certificateSigningRequests } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { everyOwned } from './paged-list.ts';
import { type DeadCertificates, isDead } from './stray-bindings.ts';
import { parseTargetObjectName } from './target-object-names.ts';

interface Sought extends DeadCertificates {
  /** Serials that are known anyway, and not kept once more. */
  readonly serials: readonly number[];
}

/** Dead certificates of which only a target says that they were asked for, by the UID of their object. */
export interface RequestedSerials {
  readonly serials: ReadonlyMap<string, ReadonlySet<number>>;
  /** UIDs of which there are more than are kept. */
  readonly cut: ReadonlySet<string>;
}

/** The target says how many there are, and the memory is that of all targets. */
const maxKept = 10_000;

/**
 * Searches the signing requests of a target once, for the dead certificates of many objects. It ends early where of each object
 * there are more than are kept. Rejects as `everyObject` does.
 */
export async function findRequestedSerials(
  client: Pick<KubeClient, 'list'>,
  sought: readonly Sought[],
  assertTime: () => void,
): Promise<RequestedSerials> {
  const wanted = Map.groupBy(sought, ({ uid }) => uid);
  const serials = new Map([...wanted.keys()].map((uid) => [uid, new Set<number>()]));
  const cut = new Set<string>();
  let kept = 0;
  const search = { uids: new Set(wanted.keys()), assertTime };
  for await (const { uid, name } of everyOwned(client, certificateSigningRequests, search)) {
    const serial = parseTargetObjectName(uid, name);
    const known = serials.get(uid);
    if (serial === undefined || known === undefined || known.has(serial)) continue;
    if (wanted.get(uid)?.some((one) => isDead(serial, one) && !one.serials.includes(serial)) !== true)
      continue;
    if (kept < maxKept) {
      known.add(serial);
      kept++;
    } else if (cut.add(uid).size === wanted.size) break;
  }
  return { serials, cut };
}
