import { reasons } from '../../api/reasons.ts';
import { certificateSigningRequests, clusterRoleBindings, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { isNotFound } from '../../kube/kube-error.ts';
import { sleep } from '../../kube/sleep.ts';
import type { AdminKubeConfig } from '../../platform/targets/admin-kubeconfig/admin-kube-config.ts';
import type { OpenTarget, TargetClients, TargetSource } from '../../platform/targets/target-clients.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import { atTarget, TargetFailure, targetFailure } from '../targets/target-failure.ts';
import { allowRebinding, denyRebinding, ownersOfDenials } from './deny-rebinding.ts';
import { findRequestedSerials, type RequestedSerials } from './requested-serials.ts';
import { caFingerprint } from './revocation-records.ts';
import {
  type DeadCertificates,
  findBoundOwners,
  findStrayBindings,
  isDead,
  removeStrayBindings,
} from './stray-bindings.ts';
import { takeEach } from './take-each.ts';
import { targetObjectName } from './target-object-names.ts';

export interface RevokeRequest extends DeadCertificates {
  /** Serials that are known to have something in the target. */
  readonly serials: readonly number[];
  /** The virtual cluster must prove itself by this authority. Absent: by any. */
  readonly caFingerprint?: string;
}

/** For all of it; what is left then is left to the next try. */
const maxDurationMs = 30_000;
/** Of it, in a pass for many: what is unbound by then still has to be searched for, and cleaned up after. */
const maxUnbindingMs = 12_000;
/** An API server acts on a deleted binding after its watch has brought it. */
const authorizerLagMs = 250;

/** Takes from certificates what they may do in their virtual cluster. */
export class CertificateRevoker {
  readonly #clients: Pick<TargetClients, 'open' | 'remembered'>;
  readonly #clock: Clock;

  constructor(clients: Pick<TargetClients, 'open' | 'remembered'>, clock: Clock) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /**
   * `revoke` in a target that has to be opened first. `memory`: the UID under which the target was opened before, where
   * that is another.
   */
  async tryRevoke(
    source: TargetSource,
    request: RevokeRequest,
    memory: string = source.uid,
  ): Promise<RevokeAttempt> {
    const outcome = await this.#inside({ source, memory, request }, async ({ client, config }) => {
      await this.revoke(client, request);
      return { caFingerprint: caFingerprint(config) };
    });
    return 'problem' in outcome ? outcome : outcome.value;
  }

  /**
   * As `tryRevoke`, for many objects of one target in one pass. Resolves with what came of it, or with what stands in the way of
   * all. What someone keeps in force is left to `tryRevoke`: it must hold up no other. `onAnswer`: called when the target has
   * acted on the request for one of them.
   */
  async tryRevokeTogether(
    source: TargetSource,
    requests: readonly [RevokeRequest, ...RevokeRequest[]],
    { memory = source.uid, onAnswer }: { readonly memory?: string; readonly onAnswer: () => void },
  ): Promise<Outcome<CommonPass>> {
    const way = { source, memory, request: requests[0] };
    return await this.#inside(way, ({ client }) => this.#revokeTogether(client, requests, onAnswer));
  }

  async #inside<T>(way: Way, work: (target: OpenTarget) => Promise<T>): Promise<Outcome<T>> {
    try {
      const opened = await this.#clients.open(way.source);
      if ('problem' in opened) return await this.#fromMemory(way, work, opened.problem);
      const { target } = opened;
      if (!isMeant(way.request, target.config)) return await this.#fromMemory(way, work, elsewhere);
      return { value: await work(target) };
    } catch (error) {
      if (error instanceof TargetFailure) return { problem: error.problem };
      throw error;
    }
  }

  /**
   * A namespace that is being deleted loses its Secrets first, and a person who may write the Secret may point it
   * elsewhere, or nowhere: what was read before still serves to take something back.
   */
  async #fromMemory<T>(
    { memory, request }: Way,
    work: (target: OpenTarget) => Promise<T>,
    problem: TargetProblem,
  ): Promise<Outcome<T>> {
    const target = this.#clients.remembered(memory, (config) => isMeant(request, config));
    if (target === undefined) return { problem };
    try {
      return { value: await work(target) };
    } catch (error) {
      if (error instanceof TargetFailure) return { problem };
      throw error;
    } finally {
      await target.client.close();
    }
  }

  /**
   * Removes the requests of dead certificates and every binding that names one. It has ended well only when a whole
   * pass found none, made after the API server had time to act on the last deletion: until then the holder may still
   * have been able to bind the certificate again. Resolves with true when bindings of this object were denied, and may be for
   * a second or so more. Rejects with a TargetFailure.
   */
  async revoke(client: KubeClient, request: RevokeRequest): Promise<boolean> {
    const assertTime = this.#timeLimit();
    // By a process that died before it could allow it again.
    const isStillDenied = async () =>
      (await ownersOfDenials(client, { assertTime, uids: uidsOf([request]) })).size > 0;
    return await atTarget(async () => {
      const removed = await removeOwnBindings(client, request, assertTime);
      const isDenied = await this.#removeStray(client, request, { removed, assertTime });
      const wasDenied = (isDenied || (await isStillDenied())) && (await allowRebinding(client, request));
      const requested = await findRequestedSerials(client, [request], assertTime);
      await removeSigningRequests(client, request, { requested, assertTime });
      return wasDenied;
    });
  }

  /** The search comes when the API server had time to act on the last deletion, as the last pass of `revoke` does. */
  #revokeTogether(
    client: KubeClient,
    requests: readonly RevokeRequest[],
    onAnswer: () => void,
  ): Promise<CommonPass> {
    const assertTime = this.#timeLimit();
    const assertUnbindingTime = this.#timeLimit(maxUnbindingMs);
    return atTarget(async () => {
      const unbinding = await takeEach(requests, assertUnbindingTime, async (request) => {
        await removeOwnBindings(client, request, assertUnbindingTime);
        onAnswer();
      });
      if (unbinding.taken.length === 0 && unbinding.untried.length > 0) throw endless();
      await sleep(this.#clock, authorizerLagMs);
      const bound = await findBoundOwners(client, unbinding.taken, assertTime);
      const free = unbinding.taken.filter(({ uid }) => !bound.has(uid));
      const denied = await ownersOfDenials(client, { assertTime, uids: uidsOf(free) });
      const requested = await findRequestedSerials(client, free, assertTime);
      const cleaning = await takeEach(free, assertTime, async (request) => {
        if (denied.has(request.uid)) await allowRebinding(client, request);
        await removeSigningRequests(client, request, { requested, assertTime });
      });
      return {
        done: uidsOf(cleaning.taken),
        untried: uidsOf([...unbinding.untried, ...cleaning.untried]),
      };
    });
  }

  #timeLimit(ms = maxDurationMs): () => void {
    const deadline = this.#clock.monotonic() + ms;
    return () => {
      if (this.#clock.monotonic() > deadline) throw endless();
    };
  }

  /**
   * A binding that is found here was not made by us: the holder may be binding the certificate faster than a pass takes, and a pass takes
   * long where the list is large. So it is denied before the removal. Resolves with whether it was.
   */
  async #removeStray(
    client: KubeClient,
    dead: DeadCertificates,
    { removed, assertTime }: Progress,
  ): Promise<boolean> {
    let before = removed;
    let isDenied = false;
    for (let pass = 1; ; pass++) {
      const found = await findStrayBindings(client, dead, assertTime);
      if (found.length + before === 0) return isDenied;
      if (found.length > 0 && !isDenied) await denyRebinding(client, dead);
      isDenied ||= found.length > 0;
      const irremovable = await removeStrayBindings(client, found, assertTime);
      if (pass > 1 && irremovable > 0 && irremovable === found.length) throw inForce();
      before = 0;
      await sleep(this.#clock, authorizerLagMs);
    }
  }
}

/** By which authority the virtual cluster proved itself in which all is revoked; or what stands in the way. */
export type RevokeAttempt = { readonly caFingerprint: string } | { readonly problem: TargetProblem };

/** UIDs of objects. */
export interface CommonPass {
  /** Nothing is left of them in the target. */
  readonly done: ReadonlySet<string>;
  /** There was no time for them. */
  readonly untried: ReadonlySet<string>;
}

type Outcome<T> = { readonly value: T } | { readonly problem: TargetProblem };

/** How a target is entered. */
interface Way {
  readonly source: TargetSource;
  /** The UID under which it was opened before. */
  readonly memory: string;
  readonly request: RevokeRequest;
}

interface Progress {
  /** Bindings that are gone already. */
  readonly removed: number;
  readonly assertTime: () => void;
}

const isMeant = ({ caFingerprint: wanted }: RevokeRequest, config: AdminKubeConfig): boolean =>
  wanted === undefined || wanted === caFingerprint(config);

const uidsOf = (requests: readonly RevokeRequest[]): ReadonlySet<string> =>
  new Set(requests.map(({ uid }) => uid));

/** By name and so at once, before anything is searched. Resolves with how many there were. */
async function removeOwnBindings(
  client: KubeClient,
  request: RevokeRequest,
  assertTime: () => void,
): Promise<number> {
  const { uid, serials } = request;
  let removed = 0;
  for (const serial of serials.filter((candidate) => isDead(candidate, request))) {
    assertTime();
    removed += await remove(client, clusterRoleBindings, targetObjectName(uid, serial));
  }
  return removed;
}

interface SearchedRequests {
  readonly requested: RequestedSerials;
  readonly assertTime: () => void;
}

/**
 * Also those of a process that died before it could say so: they are among the `requested`. Rejects with a TargetFailure when
 * there are more, which the next try finds.
 */
async function removeSigningRequests(
  client: KubeClient,
  request: RevokeRequest,
  { requested, assertTime }: SearchedRequests,
): Promise<void> {
  const { uid, serials } = request;
  const found = new Set([...serials, ...(requested.serials.get(uid) ?? [])]);
  for (const serial of [...found].filter((candidate) => isDead(candidate, request))) {
    assertTime();
    await remove(client, certificateSigningRequests, targetObjectName(uid, serial));
  }
  if (requested.cut.has(uid)) throw endless();
}

async function remove(client: KubeClient, resource: Resource, name: string): Promise<number> {
  try {
    await client.delete(resource, { name });
    return 1;
  } catch (error) {
    if (isNotFound(error)) return 0;
    throw error;
  }
}

const elsewhere: TargetProblem = {
  reason: reasons.targetChanged,
  message:
    'The administrator kubeconfig leads to another virtual cluster than the one with the certificates, or its authority was replaced.',
};

const endless = () =>
  targetFailure(
    reasons.targetAnswer,
    'The bindings of revoked certificates could not be removed in time: the virtual cluster is slow, or someone in it makes them again and again.',
  );

const inForce = () =>
  targetFailure(
    reasons.targetAnswer,
    'A binding of a revoked certificate is still in force: its name does not fit into a request, and a finalizer, another subject or another such name keeps it. Give the virtual cluster a new client authority, or delete the binding in its etcd.',
  );
