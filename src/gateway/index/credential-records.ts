import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { allCredentialKinds, byCredentialKind, type CredentialKind } from '../../api/credential-kinds.ts';
import { asCount, asObject } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import { credentialResources } from '../../api/resources.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { isConfirmed } from '../../credentials/liveness.ts';
import type { KubeConfigAuth, LiveRecord, Slots } from '../../credentials/record.ts';
import { Store } from '../../kube/cache/store.ts';
import { provenWatches } from '../../kube/cache/watch-requests.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { InformerSource, Informers } from '../../platform/informers.ts';
import { Arrivals } from './arrivals.ts';
import { ownersOf } from './ownership.ts';

/** All credentials, as the gateway knows them. */
export class CredentialRecords {
  readonly ofKind = byCredentialKind(() => new Store<LiveRecord>({ hash: hashesOf, owner: ownersOf }));
  /** The objects themselves, which are not kept. */
  readonly arrivals = byCredentialKind(() => new Arrivals());

  /** Watches everything that is kept here. */
  addTo(informers: Pick<Informers, 'add'>): void {
    for (const kind of allCredentialKinds) {
      const resource = credentialResources[kind];
      const source: InformerSource<LiveRecord> = {
        resource,
        store: this.ofKind[kind],
        toRecord: (object) => {
          this.arrivals[kind].saw(object);
          const record = projectCredential(object, kind);
          const previous = this.ofKind[kind].get(record.key);
          return isStillStopped(object, previous) ? { ...record, disabled: true } : record;
        },
        ...provenWatches,
      };
      informers.add(resource.plural, source);
    }
  }

  /** Every credential that claims this hash, whether or not it grants anything. */
  withHash(hash: string): readonly LiveRecord[] {
    return allCredentialKinds.flatMap((kind) => this.ofKind[kind].byIndex('hash', hash));
  }

  readonly accessKey = (name: string): LiveRecord | undefined => this.ofKind.OwnedAccessKey.get(name);
}

/** Hashes of the present credential, of its predecessor, and of a key in the spec that is not confirmed yet. */
export function hashesOf({ specKey, status }: LiveRecord): readonly string[] {
  const hashes = [status.credentialHash, status.previous?.credentialHash, specKey?.hash];
  return [...new Set(hashes.filter((hash) => hash !== undefined && hash !== ''))] as string[];
}

/** The hash of a certificate is that of a public text: who shows the certificate must not pass for its owner. */
function projectCredential(object: KubeObject, kind: CredentialKind): LiveRecord {
  const auth = asObject((object as { status?: unknown }).status)['auth'];
  const certificate: KubeConfigAuth = 'ClientCertificate';
  const record = forgetUnused(toLiveRecord(object, kind));
  if (auth !== certificate && !record.kubeConfig?.clientCert) return record;
  const { credentialHash: _, previous: __, ...status } = record.status;
  return { ...record, status };
}

/** Of a credential that grants nothing, no scope is kept: one user may make any number of them, and the memory is for all. */
const forgetUnused = (record: LiveRecord): LiveRecord =>
  record.problem === undefined && !record.disabled && isConfirmed(record) ? record : withoutLongParts(record);

/** In place of a scope stands one that allows nothing, because without any the credential would have no limits. */
export function withoutLongParts(record: LiveRecord): LiveRecord {
  const { scope, rules, exchange } = record;
  if (scope === undefined && rules === undefined && exchange === undefined) return record;
  return {
    ...record,
    scope: scope === undefined && rules === undefined ? undefined : none,
    rules: undefined,
    exchange: isLong(exchange?.trust) ? undefined : exchange,
  } as Slots<LiveRecord> as LiveRecord;
}

const none = Object.freeze({});

/** A short one says to pipelines why they get nothing. */
const isLong = (trust: unknown): boolean => trust !== undefined && JSON.stringify(trust).length > 2_048;

/**
 * Whether a key that was disabled is enabled by its spec alone. The policy that says who may enable it may be away for a moment, so only
 * the operator ends an emergency stop. While none runs, the key stays disabled. All other keys work on.
 */
export function isStillStopped(object: KubeObject, previous: LiveRecord | undefined): boolean {
  const status = asObject((object as { status?: unknown }).status);
  const { uid, generation = 0 } = object.metadata;
  if ((asCount(status['observedGeneration']) ?? 0) >= generation) return false;
  const ready = findCondition(parseConditions(status['conditions']), conditionTypes.ready);
  // No condition says that it was disabled if no operator has seen it, but this process may have.
  return ready?.reason === reasons.disabled || (previous?.uid === uid && previous.disabled);
}
