import type { Store } from '../../kube/cache/store.ts';
import { parseKey } from '../../kube/object.ts';
import type { SlotOptions, SlotPlace } from '../../kube/queue/slot-lines.ts';
import type { WorkQueueOptions } from '../../kube/queue/work-queue.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import { type CredentialStores, instanceKeyOf } from '../credentials/credential-stores.ts';
import type { ControllerName } from './operator-context.ts';

/**
 * How many workers one target, and all targets of one tenant, can hold at the same time. A virtual cluster that answers slowly
 * must not delay issues and, above all, revocations for others. Tenants take turns where nothing else says whose a key is.
 */
export function limitDialling(
  stores: CredentialStores,
  revocations: Store<RevocationRecord>,
): Readonly<Partial<Record<ControllerName, Pick<WorkQueueOptions, 'slots' | 'ownerOf'>>>> {
  const kubeConfigPlace = (key: string) => {
    const record = stores.kubeConfig(key);
    return record?.kubeConfig?.clientCert === true ? placeOf(instanceKeyOf(record)) : undefined;
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
