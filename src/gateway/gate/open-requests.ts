import type { Identity } from '../../credentials/identity.ts';
import type { Clock, Timer } from '../../kube/clock.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import type { TargetLocation } from '../../scope/gate/authorise.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import type { ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import type { CredentialIndex } from '../index/credential-index.ts';
import type { Refused, Verdict } from '../index/verdict.ts';
import { type ErrorAnswer, tooManyRequests } from '../server/error-answer.ts';
import { explainRefusal } from './authenticate.ts';
import { findDenial } from './authorise.ts';
import type { EntryPermissions } from './entry-permissions.ts';
import { isAgent } from './own-objects.ts';

/** The target that a request entered. */
export interface EnteredTarget extends TargetLocation {
  /** Of the object that its name means now, and for a space of its cluster too. Empty for the platform itself. */
  readonly uids: string;
  /** The right on the platform that the user needs to enter; absent for the platform itself. */
  readonly entry?: AccessQuestion;
}

/** A request under way. */
export interface OpenRequest {
  readonly identity: Identity;
  /** {@link shareOf} its verdict. */
  readonly share: string;
  /** Headers that told the target as which user, and with which credential, the request is sent. */
  readonly impersonation: Verdict['impersonation'];
  /** Of the verdict that it was judged by last. */
  scopes: Verdict['scopes'];
  /** {@link OpenRequestsOptions.projectsVersion} when it was judged last. */
  projects?: number;
  readonly asked: ResolvedRequest;
  /** Of the target that it went to. */
  readonly targetUIDs: string;
  readonly isLong: boolean;
  /** Ends it at once, with the answer half sent. The holder is told why where there is a way to. */
  readonly cut: (why: string) => void;
  /** A write has left that may be what ends the credential: it gets its answer. It keeps its place until then. */
  isFinishing?: boolean;
  /** It waits for the right to enter its target. It is judged again after that, so it is not cut. */
  readonly isEntering?: boolean;
}

export interface OpenRequestsOptions {
  readonly clock: Clock;
  readonly find: CredentialIndex['find'];
  readonly problem: CredentialIndex['problem'];
  readonly findTarget: (target: RequestTarget) => EnteredTarget | undefined;
  /** Another number when another namespace is a project, or one is none any more. */
  readonly projectsVersion: () => number;
  readonly permissions: Pick<EntryPermissions, 'mayStay'>;
  /** At once, with one credential, and with all that speak for one user. */
  readonly limits: { readonly ofCredential: RequestCounts; readonly ofUser: RequestCounts };
}

export interface RequestCounts {
  readonly short: number;
  readonly long: number;
}

/** How soon an end that no change of an object announces is noticed. */
const sweepMs = 500;

/** Who has sent something so short a time ago will send more, milliseconds. */
const recentMs = 1_000;

interface Arrival {
  user: string;
  at: number;
}

/** Targets that went, and users who lost a right, since the last look. */
interface Gone {
  readonly targets: Set<string>;
  readonly users: Set<string>;
  timer: Timer | undefined;
}

/** A credential, as the index knows it now. */
interface Current {
  readonly problem: string | undefined;
  readonly found: Verdict | Refused | undefined;
}

interface Share {
  long: number;
  readonly open: Set<OpenRequest>;
}

/** The requests under way with each credential: a limit for it and for its user, and an end with the credential. */
export class OpenRequests {
  readonly #options: OpenRequestsOptions;
  readonly #shares = new Map<string, Share>();
  readonly #users = new Map<string, { short: number; long: number }>();
  /** Of the user who sent something last, and of the one before. */
  #last: Arrival = { user: '', at: Number.NEGATIVE_INFINITY };
  #former: Arrival = { user: '', at: Number.NEGATIVE_INFINITY };
  #timer: Timer | undefined;
  #gone: Gone = { targets: new Set(), users: new Set(), timer: undefined };

  constructor(options: OpenRequestsOptions) {
    this.#options = options;
  }

  /** Takes a place for a request with the credential of this hash; an answer when all are taken. */
  enter(hash: string, request: OpenRequest): ErrorAnswer | undefined {
    const { clock, limits } = this.#options;
    const share = this.#shares.get(hash) ?? { long: 0, open: new Set() };
    const user = this.#users.get(request.share) ?? { short: 0, long: 0 };
    const kind = request.isLong ? 'long' : 'short';
    const underway = request.isLong ? share.long : share.open.size - share.long;
    if (underway >= limits.ofCredential[kind]) return tooMany.ofCredential;
    if (user[kind] >= limits.ofUser[kind]) return tooMany.ofUser;
    this.#shares.set(hash, share);
    this.#users.set(request.share, user);
    request.projects = this.#options.projectsVersion();
    share.open.add(request);
    user[kind] += 1;
    this.seen(request.share);
    if (request.isLong) share.long += 1;
    this.#timer ??= clock.setTimer(() => this.#sweep(), sweepMs);
    return undefined;
  }

  /** Gives the place back. */
  leave(hash: string, request: OpenRequest): void {
    const share = this.#shares.get(hash);
    if (!share?.open.delete(request)) return;
    if (request.isLong) share.long -= 1;
    if (share.open.size === 0) this.#shares.delete(hash);
    this.#leaveUser(request);
  }

  #leaveUser({ share: user, isLong }: OpenRequest): void {
    const counts = this.#users.get(user);
    if (counts === undefined) return;
    counts[isLong ? 'long' : 'short'] -= 1;
    if (counts.short + counts.long === 0) this.#users.delete(user);
  }

  /** The user has sent a request, or typed into a session. Others are not alone then. */
  seen(user: string): void {
    if (this.#last.user !== user) {
      const former = this.#former;
      this.#former = this.#last;
      this.#last = former;
      this.#last.user = user;
    }
    this.#last.at = this.#options.clock.monotonic();
  }

  /** Whether no one else has sent anything of late. */
  isAlone(user: string): boolean {
    const other = this.#last.user === user ? this.#former : this.#last;
    return this.#options.clock.monotonic() - other.at > recentMs;
  }

  /** Ends what the credential of this hash no longer allows. `isAbout`: others are not looked at. */
  recheck(hash: string, isAbout: (request: OpenRequest) => boolean = () => true): void {
    const share = this.#shares.get(hash);
    if (share === undefined) return;
    const current = this.#look(hash);
    for (const request of [...share.open])
      if (request.isFinishing !== true && request.isEntering !== true && isAbout(request))
        this.#checkOne(request, current);
  }

  /** Asked right before something is sent for it: some ends are noticed by a sweep alone. False: it is cut. */
  mayGoOn(hash: string, request: OpenRequest): boolean {
    return this.#checkOne(request, this.#look(hash));
  }

  #look(hash: string): Current {
    const problem = this.#options.problem();
    return { problem, found: problem === undefined ? this.#options.find(hash) : undefined };
  }

  #checkOne(request: OpenRequest, { problem, found }: Current): boolean {
    const isGood = found !== undefined && 'record' in found;
    if (isGood && this.#isAllowed(found, request)) return true;
    request.cut(isGood ? noLongerAllowed : explainEnd(problem, found));
    return false;
  }

  /**
   * Checks at once what rests on a target that is gone, or on a right of this user. When a target goes, the operator next takes the access
   * to it away: a session that ends by that cannot be told why. Many go at the same time, and to find such requests takes a look at all:
   * it is one look for all of them.
   */
  recheckFor({ targetUID, user }: { readonly targetUID?: string; readonly user?: string }): void {
    if (targetUID !== undefined) this.#gone.targets.add(targetUID);
    if (user !== undefined) this.#gone.users.add(user);
    this.#gone.timer ??= this.#options.clock.setTimer(() => this.#recheckGone(), 0);
  }

  #recheckGone(): void {
    const { targets, users } = this.#gone;
    this.#gone = { targets: new Set(), users: new Set(), timer: undefined };
    const isAbout = ({ identity, targetUIDs }: OpenRequest): boolean =>
      users.has(identity.user) || (targets.size > 0 && targetUIDs.split(' ').some((uid) => targets.has(uid)));
    for (const hash of [...this.#shares.keys()]) this.recheck(hash, isAbout);
  }

  #isAllowed(verdict: Verdict, request: OpenRequest): boolean {
    if (!isSame(verdict.impersonation, request.impersonation)) return false;
    const { findTarget, permissions } = this.#options;
    const target = findTarget(request.asked.target);
    // Deleted and made again under the same name it is another one, and the request still runs in the former one.
    if (target?.uids !== request.targetUIDs || !this.#isInScope(verdict, request, target)) return false;
    return target.entry === undefined || permissions.mayStay(verdict.identity, target.entry);
  }

  /** A large scope takes milliseconds, and one user may have thousands of requests under way: it is asked only when it may say no. */
  #isInScope(verdict: Verdict, request: OpenRequest, place: TargetLocation): boolean {
    const projects = this.#options.projectsVersion();
    if (request.scopes === verdict.scopes && request.projects === projects) return true;
    request.scopes = verdict.scopes;
    request.projects = projects;
    return findDenial(verdict, request.asked, place) === undefined;
  }

  #sweep(): void {
    this.#timer = undefined;
    for (const hash of [...this.#shares.keys()]) this.recheck(hash);
    if (this.#shares.size > 0) this.#timer = this.#options.clock.setTimer(() => this.#sweep(), sweepMs);
  }
}

const noLongerAllowed = 'the credential, its user or the target no longer allows this';

function explainEnd(problem: string | undefined, found: Verdict | Refused | undefined): string {
  if (problem !== undefined) return 'the gateway does not know at the moment which credentials are good';
  if (found === undefined || !('reason' in found))
    return 'the credential is gone: it was deleted or replaced';
  return explainRefusal(found.reason).replace('access key', 'credential');
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one === other || one.join('\n') === other.join('\n');

const tooMany = { ofCredential: tooManyRequests('this credential'), ofUser: tooManyRequests('this user') };

/**
 * Whose share of the gateway a request takes: places, and time of the main thread. It is that of its user. All credentials of agents that
 * a user has made share another one: a busy user would otherwise keep the direct endpoints of their clusters from hearing what was
 * revoked. One for each would give a user as many shares as they make keys. Connections are counted by user alone.
 */
export const shareOf = (verdict: Pick<Verdict, 'gates' | 'record' | 'identity'>): string =>
  isAgent(verdict) ? agentMark + verdict.identity.user : verdict.identity.user;

/** No user has such a name: it cannot stand in a header. */
const agentMark = '\0agents of ';
