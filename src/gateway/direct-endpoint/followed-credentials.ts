import { beatMs, type LiveCredential, type LiveSpace, type Positions } from '../../api/live-credentials.ts';
import type { Identity } from '../../credentials/identity.ts';
import { tokenIDHash } from '../../credentials/token-id.ts';
import type { Clock } from '../../kube/clock.ts';
import { newerVersion } from '../../kube/object.ts';
import { steadyTime } from '../index/credential-index.ts';
import type { Verdict } from '../index/verdict.ts';
import { toVerdict } from './endpoint-verdict.ts';
import { BadStream, isBehind, LineReader } from './line-reader.ts';
import { type KnownCredential, LiveSet, scopesOf } from './live-set.ts';

export interface FollowedCredentialsOptions {
  /** The name of the Cluster. */
  readonly cluster: string;
  readonly clock: Clock;
  /** How long the last set counts without a proof that it is current, milliseconds. */
  readonly outageMs: number;
  /** Whether {@link FollowedCredentials.findToken} is asked. */
  readonly withTokenIDs: boolean;
  /** Called with each hash for which something else counts now. */
  readonly onChange: (hash: string) => void;
}

/** The set of an earlier process, for a restart while the platform is away. */
export interface Remembered {
  readonly set: LiveSet;
  /** How long ago it was proved to be current, milliseconds. */
  readonly ageMs: number;
}

/** Three beats: without one for so long the platform is away. */
export const silenceMs = 3 * beatMs;
/**
 * How long a credential that was dropped without a proof of up to where stays dropped. Gateways without news for this long serve no one,
 * so then all of them know of it.
 */
const droppedMs = 10 * 60_000;

/**
 * The credentials that are good in this cluster, by what the platform streams. A fresh stream replaces the former set once it has
 * sent all and knows at least as much: two gateways may know different things, and what one has revoked the other must not bring back.
 */
export class FollowedCredentials {
  readonly #options: FollowedCredentialsOptions;
  readonly #steady: () => number;
  #set: LiveSet | undefined;
  /** Of a stream that is not accepted yet. */
  #next: LiveSet | undefined;
  #reader: LineReader;
  #isSynced = false;
  /** Up to where anything was known that was ever accepted. It never goes back, not even when the outage is over. */
  #positions: Positions | undefined;
  /** Of the Cluster, as the last stream said. */
  #uid: string | undefined;
  /** Monotonic milliseconds of the last line of a stream. */
  #heard = Number.NEGATIVE_INFINITY;
  /** Monotonic milliseconds of the last proof that the set is current. */
  #proved = Number.NEGATIVE_INFINITY;
  /** The clock of the platform ahead of the monotonic one, as its last proof said. */
  #platformOffset = Number.NEGATIVE_INFINITY;
  /** Dropped since the last proof. */
  readonly #dropped = new Set<string>();
  /** Dropped by streams that ended before their proof, with the end of that, monotonic milliseconds. */
  readonly #barred = new Map<string, number>();
  /** Of those that somebody has used: few of many. */
  readonly #verdicts = new WeakMap<KnownCredential, Verdict>();
  readonly #hashes = new WeakMap<Identity, string>();

  constructor(options: FollowedCredentialsOptions) {
    this.#options = options;
    this.#steady = steadyTime(options.clock);
    this.#reader = new LineReader(options.cluster);
  }

  /** A stream begins. */
  begin(): void {
    this.end();
    this.#reader = new LineReader(this.#options.cluster);
    this.#next = this.createSet();
  }

  /** The next line of the stream, whatever it holds. Throws BadStream; then the stream is over. */
  take(line: unknown): void {
    this.#heard = this.#options.clock.monotonic();
    const read = this.#reader.read(line);
    if (read.type === 'START') this.#start(read.object.uid);
    const into = this.#next ?? this.#set ?? this.createSet();
    if (read.type === 'DROP') this.#drop(read.object.hash, into);
    if (read.type === 'ADD') this.#checkUser(read.object, into);
    const changed = into.apply(read);
    if (changed !== undefined && into === this.#set) this.#options.onChange(changed);
    if (read.type === 'SYNCED') this.#isSynced = true;
    if (read.type === 'BEAT') this.#platformOffset = read.object.time - this.#options.clock.monotonic();
    if (read.type === 'SYNCED' || read.type === 'BEAT') this.#prove(into);
  }

  /** The stream has ended, or is no good. The set stays. */
  end(): void {
    const now = this.#options.clock.monotonic();
    for (const [hash, until] of this.#barred) if (until <= now) this.#barred.delete(hash);
    for (const hash of this.#dropped) this.#barred.set(hash, now + droppedMs);
    this.#dropped.clear();
    this.#next = undefined;
    this.#isSynced = false;
  }

  /**
   * The platform has answered that the Cluster is not there: no token is good, and that is as sure as a stream would be. Positions stay,
   * because another gateway may still know less.
   */
  forget(): void {
    const former = this.#set;
    const none = this.createSet();
    none.uid = former?.uid ?? '';
    none.positions = this.#positions ?? none.positions;
    this.#set = none;
    this.#next = undefined;
    this.#proved = this.#options.clock.monotonic();
    for (const hash of former?.credentials.keys() ?? []) this.#options.onChange(hash);
  }

  /** An empty set, which keeps what is needed here. */
  createSet(): LiveSet {
    return new LiveSet(this.#options);
  }

  /**
   * Takes what an earlier process has kept: its positions count at once, its set only while there is none. In a Cluster that was made
   * again since, no token of the former one is good.
   */
  restore({ set, ageMs }: Remembered): void {
    this.#raise(set.positions);
    if (this.#set !== undefined || (this.#uid !== undefined && this.#uid !== set.uid)) return;
    this.#set = set;
    this.#proved = this.#options.clock.monotonic() - ageMs;
  }

  /** Positions of an earlier process: no stream that knows less is accepted. */
  remember(positions: Positions): void {
    this.#raise(positions);
  }

  /** The verdict on the credential with this hash. */
  find(hash: string): Verdict | undefined {
    const known = this.#set?.credentials.get(hash);
    if (known === undefined || known.end <= this.now() || this.#isBarred(hash)) return undefined;
    return this.#verdicts.get(known) ?? this.#judge(hash, known);
  }

  /** The verdict on the token with this `jti`: only one that the platform itself has named, never one that a signature alone vouches for. */
  findToken(jti: string): Verdict | undefined {
    const hash = this.#set?.byTokenID.get(tokenIDHash(jti));
    return hash === undefined ? undefined : this.find(hash);
  }

  /** Of the token that a verdict with this identity is about. */
  hashOf(identity: Identity): string | undefined {
    return this.#hashes.get(identity);
  }

  /** The space in this cluster. */
  findSpace(project: string, name: string): LiveSpace | undefined {
    return this.#set?.spaces.get(`${project}/${name}`);
  }

  /** Why nothing is granted. */
  problem(): string | undefined {
    if (this.#set === undefined) return 'the platform has not said yet which credentials are good';
    const limitMs = Math.max(silenceMs, this.#options.outageMs);
    return this.silentMs > limitMs ? 'the platform has been away for too long' : undefined;
  }

  /** Whether the last set is used without a proof that it is current. */
  get isAway(): boolean {
    return this.silentMs > silenceMs;
  }

  /** Since the last proof; infinite before there was one. */
  get silentMs(): number {
    return this.#options.clock.monotonic() - this.#proved;
  }

  /** Since the last line, of whichever stream; infinite before there was one. */
  get unheardMs(): number {
    return this.#options.clock.monotonic() - this.#heard;
  }

  /** Whether the present stream has sent all. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether it has, and knows less than another did. */
  get isBehind(): boolean {
    return this.#isSynced && this.#next !== undefined;
  }

  /** Undefined where there is nothing to keep. */
  get set(): LiveSet | undefined {
    return this.#set;
  }

  /** Epoch milliseconds by which credentials end: by this clock or that of the platform, whichever is later. */
  now(): number {
    return Math.max(this.#steady(), this.#platformOffset + this.#options.clock.monotonic());
  }

  /** A Cluster that was made again under its name is another one: no token was good in it before. */
  #start(uid: string): void {
    const former = this.#set;
    this.#uid = uid;
    if (former === undefined || former.uid === uid) return;
    this.#set = undefined;
    this.#proved = Number.NEGATIVE_INFINITY;
    for (const hash of former.credentials.keys()) this.#options.onChange(hash);
  }

  /** It counts at once, also of a stream that knows less than another in other ways. */
  #drop(hash: string, from: LiveSet): void {
    if (!from.credentials.has(hash) && this.#set?.credentials.has(hash) !== true) return;
    this.#dropped.add(hash);
    this.#set?.drop(hash);
    this.#options.onChange(hash);
  }

  /** The user of a credential never changes. Where two streams differ one is wrong, and the credential counts in neither. */
  #checkUser({ hash, user }: LiveCredential, into: LiveSet): void {
    const known = this.#set?.credentials.get(hash) ?? into.credentials.get(hash);
    if (known !== undefined && known.user !== user) {
      this.#drop(hash, into);
      throw new BadStream('it names two users of one credential');
    }
    // Who has dropped it and adds it again knows of both.
    this.#dropped.delete(hash);
  }

  #prove(set: LiveSet): void {
    const { clock, onChange } = this.#options;
    if (!this.#isSynced || (this.#positions !== undefined && isBehind(set.positions, this.#positions)))
      return;
    this.#positions = set.positions;
    this.#proved = clock.monotonic();
    this.#dropped.clear();
    if (set === this.#set) return;
    const former = this.#set;
    this.#set = set;
    this.#next = undefined;
    for (const hash of former?.credentials.keys() ?? []) onChange(hash);
  }

  #raise(positions: Positions): void {
    const known = this.#positions ?? positions;
    this.#positions = {
      tokens: newerVersion(positions.tokens, known.tokens),
      keys: newerVersion(positions.keys, known.keys),
      locks: newerVersion(positions.locks, known.locks),
    };
  }

  #isBarred(hash: string): boolean {
    if (this.#barred.size === 0) return false;
    const until = this.#barred.get(hash);
    if (until === undefined) return false;
    if (this.#options.clock.monotonic() < until) return true;
    this.#barred.delete(hash);
    return false;
  }

  /** Names that no request may carry stand for the control plane and for all rights: such a credential is none. */
  #judge(hash: string, known: KnownCredential): Verdict | undefined {
    try {
      const verdict = toVerdict({ ...known, scopes: scopesOf(known) });
      this.#verdicts.set(known, verdict);
      this.#hashes.set(verdict.identity, hash);
      return verdict;
    } catch {
      return undefined;
    }
  }
}
