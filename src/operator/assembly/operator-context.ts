import type { Store } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../logger.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { OperatorSettings } from '../../settings/operator.ts';
import type { OperatorMetrics } from '../../telemetry/metrics/operator.ts';
import type { PolicyHistory } from '../admission/policy-history.ts';
import type { UnguardedChanges } from '../admission/unguarded-changes.ts';
import type { CredentialAudit } from '../audit/credential-audit.ts';
import type { CertificateRevoker } from '../certificates/certificate-revoker.ts';
import type { RevocationRecord, RevocationRecords } from '../certificates/revocation-records.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import type { PacedWrites } from '../credentials/paced-writes.ts';
import type { GatewayAuthority } from '../gateway-certificate/gateway-authority.ts';
import type { LockStore } from '../locks/lock-store.ts';
import type { LockSweep } from '../locks/lock-sweep.ts';
import type { ObjectEvents } from '../shared/events.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import type { CredentialServices } from './create-credential-controllers.ts';
import type { Queues } from './queues.ts';

export interface ControllersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly events: ObjectEvents;
  readonly settings: OperatorSettings;
  readonly metrics: OperatorMetrics;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  /** When there were times without policies. */
  readonly history: Pick<PolicyHistory, 'wasUnguarded' | 'known' | 'isKnown'>;
  /** Throws when this process does not lead for certain. */
  readonly assertLeading: () => void;
  /** Absent: no line is written about credentials. */
  readonly audit?: CredentialAudit | undefined;
}

/** The parts of which the controllers of one term are made. */
export interface OperatorContext extends ControllersOptions {
  readonly stores: CredentialStores;
  readonly targets: TargetStores;
  readonly locks: LockStore;
  readonly lockSweep: LockSweep;
  readonly unguardedTargets: Pick<UnguardedChanges<TargetRecord>, 'has' | 'judged'>;
  /** Connections to virtual clusters and clusters. */
  readonly targetClients: TargetClients;
  readonly credentials: CredentialServices;
  /** The parts that kubeconfigs with a certificate and the clean-up from the records share. */
  readonly certificates: {
    readonly revoker: CertificateRevoker;
    readonly records: RevocationRecords;
    /** The records, as they are watched. */
    readonly recorded: Store<RevocationRecord>;
  };
  /** Since when this process works on objects, epoch milliseconds. */
  readonly workingSince: () => number;
  readonly ring: KeyRing;
  readonly gatewayAuthority: GatewayAuthority;
  readonly expiryBudget: PacedWrites;
  readonly lockBudget: PacedWrites;
  readonly queues: Queues;
}

/** Limits of the kinds that are issued: `maxTTL` in seconds. */
export function issuedLimits(settings: OperatorSettings, maxTTL: number) {
  return {
    activityInterval: settings.activityIntervalMs,
    expiredRetention: settings.expiredRetentionMs,
    rotationOverlap: settings.rotationOverlapMs,
    maxTTL,
  };
}

/** Throws when nothing may be signed now: neither a signature nor an approval can be taken back. */
export function mayIssue({ assertLeading, assertAdmission, audit }: OperatorContext): () => void {
  return () => {
    assertLeading();
    assertAdmission();
    audit?.assertOpen();
  };
}
