import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { allCredentialKinds, byCredentialKind, type CredentialKind } from '../../api/credential-kinds.ts';
import { asCount, asObject } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import { credentialResources } from '../../api/resources.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import { compareFingerprint } from '../../credentials/fingerprint.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import type { KubeConfigAuth, LiveRecord } from '../../credentials/record.ts';
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

/**
 * The hash of a certificate is that of a public text: who shows the certificate must not pass for its owner. Of an object that the
 * operator has not confirmed no scope is kept: it grants nothing, and one user may make any number of them.
 */
function projectCredential(object: KubeObject, kind: CredentialKind): LiveRecord {
  const auth = asObject((object as { status?: unknown }).status)['auth'];
  const certificate: KubeConfigAuth = 'ClientCertificate';
  const live = toLiveRecord(object, kind);
  const isConfirmed = compareFingerprint(live.fingerprints, live.status.fingerprint) !== 'different';
  const record = isConfirmed ? live : withoutScope(live);
  if (auth !== certificate && !record.kubeConfig?.clientCert) return record;
  const { credentialHash: _, previous: __, ...status } = record.status;
  return { ...record, status };
}

/** A scope that allows nothing, in place of one that is not kept. Without any, the credential would have no limits. */
function withoutScope(record: LiveRecord): LiveRecord {
  const { scope, rules, ...others } = record;
  return scope === undefined && rules === undefined ? record : { ...others, scope: none };
}

const none = Object.freeze({});

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
