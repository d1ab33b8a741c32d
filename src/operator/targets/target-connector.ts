import { targetsNamespace } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { Clock } from '../../kube/clock.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  type ImpersonatorToken,
  isTargetSecretOf,
  parseTargetAccess,
  type TargetAccess,
  type TargetOwner,
} from '../../platform/targets/target-access.ts';
import type { OpenTarget, TargetClients } from '../../platform/targets/target-clients.ts';
import { type TargetProblem, withDialledServer } from '../../platform/targets/target-problem.ts';
import type { ConnectedRecord, KubeConfigSource } from '../../platform/targets/target-record.ts';
import { impersonatorRules } from './impersonator-role.ts';
import { isAccepted, isCurrent, requestToken } from './impersonator-token.ts';
import type { PlatformIdentity } from './platform-identity.ts';
import { type Inspection, inspect, removeAll, repair } from './repair.ts';
import { isUsed } from './sharers.ts';
import { problemInTarget, TargetFailure } from './target-failure.ts';
import { wantedObjects } from './target-objects.ts';
import type { TargetSecrets } from './target-secrets.ts';
import { openSession, type TargetSession } from './target-session.ts';

export interface TargetConnectorOptions {
  readonly clients: Pick<TargetClients, 'open' | 'as' | 'forget'>;
  readonly secrets: TargetSecrets;
  readonly clock: Clock;
  /** Whether another object that a target can belong to has this UID. */
  readonly isOther: (uid: string) => boolean;
  /** Others that lead to the same API server as the object of this UID. */
  readonly sharersOf: (uid: string) => readonly ConnectedRecord[];
  /** Has another one checked soon. */
  readonly recheck: (record: ConnectedRecord) => void;
  readonly platform: Pick<PlatformIdentity, 'is'>;
  /** How long the impersonator's token is asked for, milliseconds. Default: a day. */
  readonly tokenLifeMs?: number;
}

/** The purpose of a connection to a target. */
export interface Connection {
  readonly owner: TargetOwner;
  readonly kubeConfig: KubeConfigSource;
  /** The role of the group of users; absent where users come as themselves. */
  readonly clusterRole?: string;
}

/**
 * - `clean`: nothing of the owner is left in the target.
 * - `kept`: another one has yet to take over what it works with. Till then it is this owner's to clean up, or no one's.
 * - `gone`: there is no administrator kubeconfig any more, so nothing can be cleaned in the target.
 */
export type Disconnection = 'clean' | 'kept' | 'gone' | 'failed';

const dayMs = 86_400_000;

/**
 * Makes a target usable, and takes that back. Its administrators are not trusted: every answer is judged by its shape,
 * and no text of it goes any further.
 */
export class TargetConnector {
  readonly #options: TargetConnectorOptions;

  constructor(options: TargetConnectorOptions) {
    this.#options = options;
  }

  /** Checks and repairs everything that has to be there. Resolves with why that is not possible, or with nothing. */
  async connect(connection: Connection): Promise<TargetProblem | undefined> {
    const { clients } = this.#options;
    const source = { uid: connection.owner.uid, secret: connection.kubeConfig };
    const opened = await clients.open(source);
    if ('problem' in opened) return opened.problem;
    const problem = await this.#use(connection, opened.target);
    if (problem === undefined) return undefined;
    // A kubeconfig that was replaced meanwhile closed its client, and its requests failed as if the target were gone.
    const again = await clients.open(source);
    if ('problem' in again) return again.problem;
    const last =
      again.target.client === opened.target.client ? problem : await this.#use(connection, again.target);
    return last && withDialledServer(last, again.target.config.server, connection.kubeConfig);
  }

  /** Whether something may have been made in the target: its Secret exists before that, and until it is disconnected. */
  async wasEntered({ owner }: Connection): Promise<boolean> {
    return (await this.#options.secrets.find(owner)) !== undefined;
  }

  /** The access is deleted in any case. */
  async disconnect({ owner, kubeConfig }: Connection): Promise<Disconnection> {
    const { clients, secrets } = this.#options;
    const opened = await clients.open({ uid: owner.uid, secret: kubeConfig });
    const left =
      'problem' in opened ? opened.problem : await this.#leave(owner, opened.target).catch(problemInTarget);
    await secrets.delete(owner);
    if (typeof left === 'string') return left;
    return left.reason === reasons.kubeConfigNotFound ? 'gone' : 'failed';
  }

  /** Closes the connections to the target. */
  forget(uid: string): void {
    this.#options.clients.forget(uid);
  }

  async #use(connection: Connection, target: OpenTarget): Promise<TargetProblem | undefined> {
    const { secrets, clock } = this.#options;
    const { owner } = connection;
    const secret = await secrets.find(owner);
    if (secret !== undefined && !isTargetSecretOf(secret, owner)) return conflict;
    const session = openSession(target.client, clock);
    const inspection = await this.#inspect(connection, session).catch(problemInTarget);
    if ('reason' in inspection) return inspection;
    // Before the first write there, so that it is known whether a deleted object has to be cleaned up behind.
    const stored = secret ?? (inspection.isEntered ? await secrets.mark(owner) : undefined);
    if (stored !== undefined && 'reason' in stored) return stored;
    const isPlatform = await this.#options.platform.is(session);
    if (typeof isPlatform === 'object') return isPlatform;
    const prepared = { ...inspection, isPlatform };
    const made = await this.#prepare(target, session, prepared, stored).catch(problemInTarget);
    if (made === undefined || 'reason' in made) return made;
    return secrets.write(owner, stored, made);
  }

  /**
   * Others go on working: an account that is deleted and made again takes no token of the former one. So where it is kept,
   * this owner's token counts until its end as well. It stood in the Secret alone, which is deleted.
   */
  async #leave(owner: TargetOwner, { client }: OpenTarget): Promise<'clean' | 'kept'> {
    const { clock, sharersOf, recheck } = this.#options;
    const sharers = sharersOf(owner.uid);
    const session = openSession(client, clock);
    const outcome = await removeAll(session, owner, (object) => isUsed(object, sharers));
    // Asked again: another one may have come meanwhile, and have found what is gone now.
    for (const sharer of sharersOf(owner.uid)) recheck(sharer);
    return outcome;
  }

  async #inspect({ owner, clusterRole }: Connection, session: TargetSession): Promise<Inspection> {
    const wanted = wantedObjects(owner, await impersonatorRules(session), clusterRole);
    return inspect(session, owner, wanted, this.#options.isOther);
  }

  /** Everything in the target. Resolves with the access to be stored, or with nothing when the stored one is right. */
  async #prepare(
    { config }: OpenTarget,
    session: TargetSession,
    { missing, repairs, isPlatform }: Inspection & Pick<TargetAccess, 'isPlatform'>,
    secret: KubeObject | undefined,
  ): Promise<TargetAccess | undefined> {
    const { clock, tokenLifeMs = dayMs } = this.#options;
    await repair(session, repairs);
    // API servers remember for a while that they accepted a token, also when its account is another one now.
    const stored =
      secret === undefined || missing.has('ServiceAccount') ? undefined : parseTargetAccess(secret);
    const { server, ca } = config;
    if (stored?.isPlatform === isPlatform && isCurrent(stored, server, ca, clock.now())) {
      if (await this.#isAccepted(config, stored, session)) return undefined;
    }
    const token = await requestToken(session, clock.now(), tokenLifeMs);
    // Proved before it is stored, so that the gateway never finds one that does not work.
    if (!(await this.#isAccepted(config, token, session))) throw new TargetFailure(notAccepted);
    return { ...token, server: server.href, ca, isPlatform };
  }

  async #isAccepted(
    config: OpenTarget['config'],
    { token }: ImpersonatorToken,
    { limits }: TargetSession,
  ): Promise<boolean> {
    const client = this.#options.clients.as(config, token);
    try {
      return await isAccepted(client, limits);
    } finally {
      await client.close();
    }
  }
}

const conflict: TargetProblem = {
  reason: reasons.secretConflict,
  message: `The Secret in ${targetsNamespace} that is to hold the access to this target was not made by Latchkey: delete it.`,
};

const notAccepted: TargetProblem = {
  reason: reasons.targetAnswer,
  message:
    'The target does not accept the token that it has just given: look for several control planes at one address.',
};
