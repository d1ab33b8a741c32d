import { defined } from '../../../api/json.ts';
import {
  beatMs,
  type LiveCredential,
  type LiveSpace,
  type Positions,
} from '../../../api/live-credentials.ts';
import { clusters } from '../../../api/resources.ts';
import type { Timer } from '../../../kube/clock.ts';
import type { ClusterRecord } from '../../../platform/targets/target-record.ts';
import type { Verdict } from '../../index/verdict.ts';
import type { EndpointRequest, EndpointServices } from '../shared/endpoint.ts';
import { Ends } from './ends.ts';
import { LineWriter } from './line-writer.ts';
import { findLiveScopes } from './live-scopes.ts';
import { rightToFollow } from './right-to-follow.ts';
import { spacesOfCluster } from './spaces-of-cluster.ts';
import { UserRights } from './user-rights.ts';

export type StreamServices = Pick<
  EndpointServices,
  'tokens' | 'clock' | 'permissions' | 'followingPermissions' | 'targetRecords'
>;

/** How soon it is noticed that a user lost the right to the cluster, milliseconds. */
const checkMs = 500;
/** How soon a token that becomes good without a change of its own is sent, and how soon one that the time alone makes good. */
const recheckMs = 1_000;
const recheckAllMs = 10_000;
/** Checked before others come to their turn. */
const batchSize = 50;
/** Between two questions whether users lost the right to the cluster, milliseconds: there may be thousands of them. */
const checkRightsMs = 2_000;

/** One stream of the tokens that are good in a cluster. Of what changes only the hash is kept until the reader takes it. */
export class CredentialStream {
  readonly #request: EndpointRequest;
  readonly #services: StreamServices;
  readonly #cluster: ClusterRecord;
  readonly #writer: LineWriter;
  readonly #rights: UserRights;
  readonly #ends: Ends;
  /** The verdict that the reader was told of each token, by hash. The index keeps these verdicts anyway. */
  readonly #sent = new Map<string, Verdict>();
  #spaces: ReadonlyMap<string, LiveSpace> = new Map();
  /** Hashes of tokens that changed. They go before those that are checked again. */
  readonly #changed = new Set<string>();
  /** Of all tokens, where they are checked again: the reader gets those that have become good. */
  #rechecked: Iterator<string> | undefined;
  #areSpacesChanged = true;
  #isBeatDue = false;
  #isSynced = false;
  #isOver = false;
  #isClusterGone = false;
  #next = Promise.withResolvers<void>();
  #timer: Timer | undefined;
  #beatAt: number;
  #recheckAt = 0;
  #recheckAllAt = 0;
  #checkRightsAt = 0;
  #version = '';

  constructor(request: EndpointRequest, services: StreamServices, cluster: ClusterRecord) {
    const { clock, tokens, followingPermissions: permissions } = services;
    this.#request = request;
    this.#services = services;
    this.#cluster = cluster;
    this.#writer = new LineWriter(request.response, clock);
    const onChange = (hash: string) => this.#touch(hash);
    const entry = { verb: 'use', resource: clusters.plural, namespace: '', name: cluster.name };
    this.#rights = new UserRights({ permissions, clock, entry, onChange, onSilence: () => this.#end() });
    this.#ends = new Ends(clock, () => tokens.now(), onChange);
    this.#beatAt = clock.monotonic() + beatMs;
  }

  /** Resolves when the reader has left, or may not go on. */
  async run(): Promise<void> {
    const { tokens, targetRecords } = this.#services;
    const { response } = this.#request;
    const onSpaces = () => {
      this.#areSpacesChanged = true;
      this.#next.resolve();
    };
    const unsubscribe = [
      tokens.subscribe((hash) => this.#touch(hash)),
      targetRecords.spaces.subscribe(onSpaces),
      targetRecords.projects.subscribe(onSpaces),
      targetRecords.clusters.subscribe(({ key }) => key === this.#cluster.name && this.#checkCluster()),
    ];
    response.once('close', () => this.#end());
    try {
      await this.#follow();
    } finally {
      this.#end();
      this.#timer?.cancel();
      this.#ends.stop();
      for (const each of unsubscribe) each();
      response.destroy();
    }
  }

  async #follow(): Promise<void> {
    const { name, uid } = this.#cluster;
    this.#version = this.#services.tokens.version;
    this.#rechecked = this.#services.tokens.hashes();
    await this.#writer.write('START', { cluster: name, uid });
    this.#tick();
    while (!this.#isOver && !this.#request.response.destroyed) {
      this.#next = Promise.withResolvers();
      // Up to where the changes so far lead: others come while these are sent, and wait.
      const { positions } = this.#services.tokens;
      await this.#sendSpaces();
      await this.#sendChanged();
      await this.#recheckSome();
      await this.#sendProof(positions);
      if (this.#changed.size > 0 || this.#rechecked !== undefined) continue;
      await this.#writer.flush();
      await this.#next.promise;
    }
    if (this.#isClusterGone) await this.#dropAll();
  }

  /** A stream that only ended would be an outage, in which all of them go on. */
  async #dropAll(): Promise<void> {
    const { clock, tokens } = this.#services;
    let count = 0;
    for (const hash of this.#sent.keys()) {
      if (this.#request.response.destroyed) return;
      await this.#writer.write('DROP', { hash });
      count += 1;
      if (count % batchSize === 0) await this.#request.turn();
    }
    await this.#writer.write('BEAT', { time: clock.now(), positions: tokens.positions });
    await this.#writer.end();
  }

  #touch(hash: string): void {
    this.#changed.add(hash);
    this.#next.resolve();
  }

  async #sendSpaces(): Promise<void> {
    if (!this.#areSpacesChanged) return;
    this.#areSpacesChanged = false;
    const known = this.#spaces;
    this.#spaces = spacesOfCluster(this.#services.targetRecords, this.#cluster);
    for (const [key, { project, name }] of known)
      if (!this.#spaces.has(key)) await this.#writer.write('NOSPACE', { project, name });
    for (const [key, space] of this.#spaces)
      if (JSON.stringify(known.get(key)) !== JSON.stringify(space)) await this.#writer.write('SPACE', space);
  }

  /** As many as there are now: those that come meanwhile are of the next turn, so that nothing else waits for ever. */
  async #sendChanged(): Promise<void> {
    let left = this.#changed.size;
    for (const hash of this.#changed) {
      if (this.#isOver || left === 0) return;
      this.#changed.delete(hash);
      left -= 1;
      await this.#sendState(hash);
      if (left % batchSize !== 0) continue;
      await this.#writer.flush();
      await this.#request.turn();
    }
  }

  async #recheckSome(): Promise<void> {
    if (this.#rechecked === undefined) return;
    for (let count = 0; count < batchSize && !this.#isOver; count += 1) {
      const { done, value: hash } = this.#rechecked.next();
      if (done === true) {
        this.#rechecked = undefined;
        return;
      }
      if (!this.#sent.has(hash)) await this.#sendState(hash);
    }
    await this.#request.turn();
  }

  async #sendState(hash: string): Promise<void> {
    const live = this.#find(hash);
    const isAllowed = live === undefined ? false : this.#rights.find(hash, live.verdict.identity);
    // Its first answer brings it here again.
    if (isAllowed === undefined && !this.#sent.has(hash)) return;
    if (live === undefined) this.#rights.forget(hash);
    if (live === undefined || isAllowed !== true) {
      if (!this.#sent.delete(hash)) return;
      // The proof of up to where it is known follows at once: another gateway may know less.
      this.#isBeatDue = true;
      return await this.#writer.write('DROP', { hash });
    }
    const { verdict, scopes } = live;
    const known = this.#sent.get(hash);
    if (known === verdict) return;
    this.#sent.set(hash, verdict);
    if (known !== undefined && formOf(known) === formOf(verdict)) return;
    this.#ends.add(hash, verdict.end);
    await this.#writer.write('ADD', toLiveCredential(hash, verdict, scopes));
  }

  /** A token that is good here, unless its scopes are too large for a stream. */
  #find(hash: string): FoundToken | undefined {
    const verdict = this.#services.tokens.find(hash, this.#cluster.name);
    const scopes = verdict && findLiveScopes(verdict);
    return verdict && scopes && { verdict, scopes };
  }

  async #sendProof(positions: Positions): Promise<void> {
    const { clock } = this.#services;
    const isComplete = this.#changed.size === 0 && this.#rechecked === undefined && !this.#rights.isAsking;
    if (!this.#isSynced && isComplete) {
      this.#isSynced = true;
      await this.#writer.write('SYNCED', { positions });
    }
    if (!this.#isBeatDue) return;
    this.#isBeatDue = false;
    this.#beatAt = clock.monotonic() + beatMs;
    await this.#writer.write('BEAT', { time: clock.now(), positions });
    // Also while 100,000 tokens are checked: without a word the reader would leave.
    await this.#writer.flush();
  }

  #tick(): void {
    if (this.#isOver) return;
    const { clock, permissions } = this.#services;
    const now = clock.monotonic();
    this.#timer = clock.setTimer(() => this.#tick(), checkMs);
    const { identity } = this.#request.sender.verdict;
    if (!permissions.mayStay(identity, rightToFollow(this.#cluster.name))) return this.#end();
    if (now >= this.#checkRightsAt) {
      this.#checkRightsAt = now + checkRightsMs;
      this.#rights.check();
    }
    this.#ends.check();
    this.#recheck(now);
    if (now >= this.#beatAt) this.#isBeatDue = true;
    if (this.#isBeatDue || !this.#isSynced) this.#next.resolve();
  }

  /** A token may become good because a key above it does, or a lock goes. */
  #recheck(now: number): void {
    const { version } = this.#services.tokens;
    const isDue = now >= this.#recheckAllAt || (version !== this.#version && now >= this.#recheckAt);
    if (!isDue || this.#rechecked !== undefined) return;
    this.#version = version;
    this.#recheckAt = now + recheckMs;
    this.#recheckAllAt = now + recheckAllMs;
    this.#rechecked = this.#services.tokens.hashes();
    this.#next.resolve();
  }

  #checkCluster(): void {
    const present = this.#services.targetRecords.clusters.get(this.#cluster.name);
    if (present?.uid === this.#cluster.uid && present.deleted === undefined) return;
    this.#isClusterGone = true;
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#next.resolve();
  }
}

/** The form of a token for the reader. */
const formOf = ({ end, scopes, identity }: Verdict): string => JSON.stringify([end, scopes, identity]);

interface FoundToken {
  readonly verdict: Verdict;
  readonly scopes: LiveCredential['scopes'];
}

function toLiveCredential(
  hash: string,
  { record, identity, end }: Verdict,
  scopes: LiveCredential['scopes'],
): LiveCredential {
  const { credentialHash, previous } = record.status;
  const { tokenIDHash: tokenID } = (credentialHash === hash ? record.status : previous) ?? {};
  return {
    hash,
    uid: record.uid,
    name: record.name,
    user: identity.user,
    groups: identity.groups,
    end,
    scopes,
    ...defined({ tokenID }),
  };
}
