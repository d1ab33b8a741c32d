import type { LookupFunction } from 'node:net';
import { asObject } from '../../api/json.ts';
import { labels } from '../../api/names.ts';
import type { Store, StoredRecord } from '../../kube/cache/store.ts';
import {
  type ClientIdentity,
  hardenedTls,
  type IdentitySource,
  makeIdentity,
} from '../../kube/client/client-identity.ts';
import { ConnectionSet, type OpenPool } from '../../kube/client/connections.ts';
import { type KubeObject, keyOf } from '../../kube/object.ts';
import { isTargetSecretOf, parseTargetAccess, type TargetAccess, targetSecretKey } from './target-access.ts';

/** The access to one target, as the operator stores it. */
export interface TargetAccessRecord extends StoredRecord {
  readonly owner: string;
  readonly access: TargetAccess;
}

/** Undefined for a Secret that is not what the operator wrote. */
export function toTargetAccessRecord(secret: KubeObject): TargetAccessRecord | undefined {
  const { metadata } = secret;
  const marks = asObject(metadata.labels);
  const [kind, uid] = [marks[labels.ownerKind], marks[labels.ownerUID]];
  if (kind !== 'VirtualClusterInstance' && kind !== 'Cluster') return undefined;
  if (typeof uid !== 'string' || metadata.name !== targetSecretKey({ uid }).name) return undefined;
  const access = isTargetSecretOf(secret, { kind, uid }) ? parseTargetAccess(secret) : undefined;
  if (access === undefined || !URL.canParse(access.server) || !access.server.startsWith('https://'))
    return undefined;
  return {
    key: keyOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    owner: uid,
    access,
  };
}

/** How to reach one target: who we are there, and the connections. */
export interface TargetConnection {
  readonly identity: IdentitySource;
  readonly connections: ConnectionSet;
  /** Whether the target is the platform itself, by what is stored now. */
  readonly isPlatform: () => boolean;
}

export interface TargetConnectionsOptions {
  readonly store: Store<TargetAccessRecord>;
  /** Decides what may be dialled, at each connection. */
  readonly lookup: LookupFunction;
  /** To each target. */
  readonly connections: number;
  readonly watchConnections: number;
  readonly openPool?: OpenPool;
}

/** Connections to targets by the access that is stored for them. Without it, those that are open are cut. */
export class TargetConnections {
  readonly #options: TargetConnectionsOptions;
  readonly #open = new Map<string, TargetConnection>();

  constructor(options: TargetConnectionsOptions) {
    this.#options = options;
    options.store.subscribe(({ type, previous }) => {
      if (type === 'deleted' && previous !== undefined) this.#close(previous.owner);
    });
  }

  /** By the UID of the target; undefined while there is no access to it. */
  find(uid: string): TargetConnection | undefined {
    if (this.#options.store.get(storeKey(uid)) === undefined) return undefined;
    const open = this.#open.get(uid) ?? this.#make(uid);
    this.#open.set(uid, open);
    return open;
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map(({ connections }) => connections.close()));
  }

  #make(uid: string): TargetConnection {
    const { store, ...limits } = this.#options;
    const read = () => store.get(storeKey(uid));
    return {
      identity: new StoredIdentity(read),
      connections: new ConnectionSet(limits),
      isPlatform: () => read()?.access.isPlatform !== false,
    };
  }

  #close(uid: string): void {
    const open = this.#open.get(uid);
    this.#open.delete(uid);
    void open?.connections.close().catch(() => undefined);
  }
}

const storeKey = (uid: string): string => keyOf(targetSecretKey({ uid }) as KubeObject['metadata']);

/** The identity that is stored now. The operator replaces the token long before it ends. */
class StoredIdentity implements IdentitySource {
  readonly #read: () => TargetAccessRecord | undefined;
  #record: TargetAccessRecord | undefined;
  #identity: ClientIdentity | undefined;

  constructor(read: () => TargetAccessRecord | undefined) {
    this.#read = read;
  }

  current(): ClientIdentity {
    const record = this.#read();
    if (record === undefined) throw new Error('the access to the target is gone');
    if (this.#identity === undefined || record !== this.#record) this.#identity = identityOf(record);
    this.#record = record;
    return this.#identity;
  }

  async refreshed(refused: ClientIdentity): Promise<boolean> {
    return this.#read() !== undefined && this.current() !== refused;
  }
}

/** Others run the server, and may have chosen its address. */
function identityOf({ access: { server, ca, token } }: TargetAccessRecord): ClientIdentity {
  const headers = ['authorization', `Bearer ${token}`];
  return hardenedTls(makeIdentity(new URL(server), { ca, rejectUnauthorized: true }, headers));
}
