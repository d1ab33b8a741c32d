import type { Reason } from '../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../src/api/resources.ts';
import { toCredentialRecord } from '../../src/credentials/credential-record.ts';
import { credentialHash } from '../../src/credentials/keys/credential-hash.ts';
import { acceptsPrevious, isLive, type Liveness } from '../../src/credentials/liveness.ts';
import type { CredentialKind, CredentialRecord } from '../../src/credentials/record.ts';
import type { Api, Stored, Target } from './api.ts';

/** `Unknown`: no object has this credential; `Gone`: there is no such object. */
export type Verdict = 'live' | Reason | 'Unknown' | 'Gone';

export interface VerifierOptions {
  /** Of the operator, milliseconds. Default: 60 000. */
  readonly activityInterval?: number;
}

/**
 * Judges credentials as whatever enforces them does: by the hash of what is presented and by the live objects as they
 * are in the API server at this moment, never by what the operator has done about them so far.
 */
export class Verifier {
  readonly #api: Api;
  readonly #activityInterval: number;

  constructor(api: Api, options: VerifierOptions = {}) {
    this.#api = api;
    this.#activityInterval = options.activityInterval ?? 60_000;
  }

  /** Judges what a client presents: an access key or a token. */
  async presented(bearer: string): Promise<Verdict> {
    const records = await this.#records();
    const hash = credentialHash(bearer);
    const verdicts = records.all
      .filter((record) => holds(record, hash))
      .map((record) => this.#judge(record, records));
    if (verdicts.some(({ live }) => live)) return 'live';
    return verdicts.map(verdictOf)[0] ?? 'Unknown';
  }

  /** Judges the credential of an object, whatever it is. The UID counts: another object of that name is none. */
  async of(target: Target & { metadata: { uid: string } }): Promise<Verdict> {
    const records = await this.#records();
    const found = records.all.find(({ uid }) => uid === target.metadata.uid);
    return found === undefined ? 'Gone' : verdictOf(this.#judge(found, records));
  }

  #judge(record: CredentialRecord, { keys }: Records): Liveness {
    const lookup = (name: string) => keys.get(name);
    return isLive(record, lookup, Date.now(), { activityInterval: this.#activityInterval });
  }

  async #records(): Promise<Records> {
    const [keys, tokens] = await Promise.all([
      this.#read(ownedAccessKeys),
      this.#read(directClusterEndpointTokens),
    ]);
    return { all: [...keys, ...tokens], keys: new Map(keys.map((key) => [key.name, key])) };
  }

  async #read(resource: Resource): Promise<readonly CredentialRecord[]> {
    const { items } = await this.#api.client.list<Stored>(resource);
    return items.map((item) => toCredentialRecord(item, resource.kind as CredentialKind));
  }
}

interface Records {
  readonly all: readonly CredentialRecord[];
  readonly keys: ReadonlyMap<string, CredentialRecord>;
}

const holds = (record: CredentialRecord, hash: string): boolean =>
  record.status.credentialHash === hash ||
  (record.status.previous?.credentialHash === hash && acceptsPrevious(record, Date.now()));

const verdictOf = (liveness: Liveness): Verdict => (liveness.live ? 'live' : liveness.reason);
