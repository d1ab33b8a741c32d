import { allCredentialKinds, type CredentialKind, credentialKinds } from '../../api/credential-kinds.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import { parseKey } from '../../kube/object.ts';
import type { SlotNeed, SlotOptions } from '../../kube/queue/slot-lines.ts';
import { WorkQueue, type WorkQueueOptions } from '../../kube/queue/work-queue.ts';
import type { OperatorSettings } from '../../settings/operator.ts';
import type { OperatorMetrics } from '../../telemetry/metrics/operator.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import { type CredentialStores, instanceKeyOf } from '../credentials/credential-stores.ts';
import { deadlineOf } from '../credentials/finalizer.ts';

/** As they stand in metrics and logs. */
export const controllerNames = [
  ...allCredentialKinds.map((kind) => credentialKinds[kind].plural),
  'virtualclusterinstances',
  'spaceinstances',
  'clusters',
  'credentiallocks',
  'revocations',
  'signing-keys',
  'gateway-certificate',
  'clusterprofiles',
] as const;

export type ControllerName = (typeof controllerNames)[number];

export type Queues = Readonly<Record<ControllerName, WorkQueue>>;

interface QueuesOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: OperatorMetrics;
  readonly settings: OperatorSettings;
  /** Since when this process works on objects, epoch milliseconds. */
  readonly workingSince: () => number;
}

/** A queue for each controller. */
export function createQueues(
  { clock, random, metrics, settings, workingSince }: QueuesOptions,
  stores: CredentialStores,
  revocations: Store<RevocationRecord>,
): Queues {
  const limitMs = settings.finalizerLimitMs;
  const dialling = limitDialling({ stores, revocations, clock, workingSince, limitMs });
  const create = (name: ControllerName) => {
    const kind = allCredentialKinds.find((candidate) => credentialKinds[candidate].plural === name);
    const owners = kind && {
      ownerOf: (key: string) => stores.ownerOf(kind, key),
      ...shareWorkers(kind),
    };
    const onAdd = metrics.controllers.for(name).added;
    return new WorkQueue({ clock, random, maxBackOffMs: 60_000, onAdd, ...dialling[name], ...owners });
  };
  return Object.fromEntries(controllerNames.map((name) => [name, create(name)])) as Queues;
}

/** Kubeconfigs with a certificate dial their target, and one that is slow holds its workers for many seconds. */
const diallingWorkers: Readonly<Partial<Record<CredentialKind, number>>> = {
  VirtualClusterInstanceKubeConfig: 48,
};

/** Objects that each controller reconciles at the same time. Of credentials: those of one requester. */
export const concurrency = 16;

/** How the workers of a kind of credential are shared by owners. */
export function shareWorkers(kind: CredentialKind) {
  const maxBusyAlone = concurrency + (diallingWorkers[kind] ?? 0);
  // Their writes would fill the API server, and another owner's would wait there instead of here.
  const maxBusyPerOwner = Math.ceil(maxBusyAlone / 4);
  return { maxBusyAlone, maxBusyPerOwner, workers: maxBusyAlone + maxBusyPerOwner };
}

/** A write of one owner must never wait for a connection because those of another are slow. */
export function connectionsFor(): number {
  const others = 16;
  return allCredentialKinds.reduce((sum, kind) => sum + shareWorkers(kind).workers, others);
}

export function queueOf(queues: Queues, kind: CredentialKind): WorkQueue {
  return queues[credentialKinds[kind].plural];
}

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
  const kubeConfigNeed = (key: string): SlotNeed | undefined => {
    const record = stores.kubeConfig(key);
    if (record?.kubeConfig?.clientCert !== true) return undefined;
    const need = { ...needOf(instanceKeyOf(record)), ...timeOf(record) };
    return (need.neededForMs ?? 1) > 0 ? need : undefined;
  };
  const revocationNeed = (key: string) => {
    const instance = revocations.get(key)?.instance;
    return instance && needOf(`${instance.namespace}/${instance.name}`);
  };
  return {
    virtualclusterinstancekubeconfigs: {
      slots: { needOf: kubeConfigNeed, ...{ perTarget: 4, perTenant: 12 } },
    },
    virtualclusterinstances: withTurns({ needOf, ...{ perTarget: 1, perTenant: 12 } }),
    revocations: withTurns({ needOf: revocationNeed, ...{ perTarget: 1, perTenant: 4 } }),
  };
}

const withTurns = (slots: SlotOptions) => ({
  slots,
  ownerOf: (key: string) => slots.needOf(key)?.tenant ?? '',
});

function needOf(target: string): SlotNeed {
  const { namespace } = parseKey(target);
  return namespace === undefined ? { target } : { target, tenant: namespace };
}
