import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import { parseKey } from '../../kube/object.ts';
import type { SlotOptions, SlotPlace } from '../../kube/queue/slot-lines.ts';
import type { WorkQueueOptions } from '../../kube/queue/work-queue.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import { type CredentialStores, instanceKeyOf } from '../credentials/credential-stores.ts';
import { deadlineOf } from '../credentials/finalizer.ts';
import type { ControllerName } from './operator-context.ts';

export interface DiallingOptions {
  readonly stores: Pick<CredentialStores, 'kubeConfig'>;
  readonly revocations: Store<RevocationRecord>;
  readonly clock: Clock;
  /** As for its finalizer. */
  readonly workingSince: () => number;
  /** How long a deleted kubeconfig may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}

/** The time of a finalizer begins a little later. Whatever comes without a slot must be past it, for then it does not dial. */
const marginMs = 1_000;

/**
 * How many workers one target, and all targets of one tenant, can hold at the same time. A virtual cluster that answers slowly
 * must not delay issues and, above all, revocations for others. Tenants take turns where nothing else says whose a key is.
 */
export function limitDialling({
  stores,
  revocations,
  clock,
  workingSince,
  limitMs,
}: DiallingOptions): Readonly<Partial<Record<ControllerName, Pick<WorkQueueOptions, 'slots' | 'ownerOf'>>>> {
  /** A deleted one goes at its limit without another try, so it must not wait for those that try. */
  const timeOf = (record: CredentialRecord) => {
    const now = clock.now();
    if (record.deleted === undefined) return {};
    return { neededForMs: deadlineOf(record, { now, since: workingSince(), limitMs }) + marginMs - now };
  };
  const kubeConfigPlace = (key: string): SlotPlace | undefined => {
    const record = stores.kubeConfig(key);
    if (record?.kubeConfig?.clientCert !== true) return undefined;
    const place = { ...placeOf(instanceKeyOf(record)), ...timeOf(record) };
    return (place.neededForMs ?? 1) > 0 ? place : undefined;
  };
  const revocationPlace = (key: string) => {
    const instance = revocations.get(key)?.instance;
    return instance && placeOf(`${instance.namespace}/${instance.name}`);
  };
  return {
    virtualclusterinstancekubeconfigs: {
      slots: { placeOf: kubeConfigPlace, ...{ perTarget: 4, perTenant: 12 } },
    },
    virtualclusterinstances: withTurns({ placeOf, ...{ perTarget: 1, perTenant: 12 } }),
    revocations: withTurns({ placeOf: revocationPlace, ...{ perTarget: 1, perTenant: 4 } }),
  };
}

const withTurns = (slots: SlotOptions) => ({
  slots,
  ownerOf: (key: string) => slots.placeOf(key)?.tenant ?? '',
});

function placeOf(target: string): SlotPlace {
  const { namespace } = parseKey(target);
  return namespace === undefined ? { target } : { target, tenant: namespace };
}
