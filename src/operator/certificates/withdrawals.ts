import { labels } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { certificateSigningRequests, clusterRoleBindings, type Resource } from '../../api/resources.ts';
import type { AdminKubeConfig } from '../../kube/admin-kubeconfig/admin-kube-config.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { isNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { sleep } from '../../kube/sleep.ts';
import type { TargetClients, TargetSource } from '../../platform/targets/target-clients.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import { authorityOf } from './ca-fingerprint.ts';
import { sealBindings, unsealBindings } from './deny-rebinding.ts';
import { everyObject } from './paged-list.ts';
import {
  type DeadCertificates,
  findPlantedBindings,
  isDead,
  removePlantedBindings,
} from './stray-bindings.ts';
import { atTarget, TargetFailure, targetFailure } from './target-failure.ts';
import { outsideName, serialOfOutsideName } from './target-object-names.ts';

export interface Withdrawal extends DeadCertificates {
  /** Those that are known to have something in the target. */
  readonly serials: readonly number[];
  /** The virtual cluster must prove itself by this authority; see `authorityOf`. Absent: by any. */
  readonly authority?: string;
}

/** Milliseconds for all of it; what is left then is left to the next try. */
const longest = 30_000;
/** An API server acts on a deleted binding after its watch has brought it; milliseconds. */
const authorizerLag = 250;

/** Takes from certificates what they may do in their virtual cluster. */
export class Withdrawals {
  readonly #clients: Pick<TargetClients, 'open' | 'remembered'>;
  readonly #clock: Clock;

  constructor(clients: Pick<TargetClients, 'open' | 'remembered'>, clock: Clock) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /**
   * The same in a target that has to be opened first. Resolves with what stands in the way, or with nothing. `memory`:
   * the UID under which the target was opened in former days, where that is another.
   */
  async tryIn(
    source: TargetSource,
    withdrawal: Withdrawal,
    memory: string = source.uid,
  ): Promise<TargetProblem | undefined> {
    try {
      const opened = await this.#clients.open(source);
      if ('problem' in opened) return await this.#tryFromMemory(memory, withdrawal, opened.problem);
      if ((withdrawal.authority ?? authorityOf(opened.target.config)) !== authorityOf(opened.target.config))
        return await this.#tryFromMemory(memory, withdrawal, elsewhere);
      await this.withdraw(opened.target.client, withdrawal);
      return undefined;
    } catch (error) {
      if (error instanceof TargetFailure) return error.problem;
      throw error;
    }
  }

  /**
   * A namespace that is being deleted loses its Secrets first, and whoever may write the Secret may have it lead
   * elsewhere, or nowhere: what was read before still serves to take something back.
   */
  async #tryFromMemory(
    uid: string,
    withdrawal: Withdrawal,
    problem: TargetProblem,
  ): Promise<TargetProblem | undefined> {
    const { authority } = withdrawal;
    const isMeant = (config: AdminKubeConfig) => authority === undefined || authority === authorityOf(config);
    const client = this.#clients.remembered(uid, isMeant);
    if (client === undefined) return problem;
    try {
      await this.withdraw(client, withdrawal);
      return undefined;
    } catch (error) {
      if (error instanceof TargetFailure) return problem;
      throw error;
    } finally {
      await client.close();
    }
  }

  /**
   * Removes the requests of dead certificates and every binding that names one. It has ended well only when a whole
   * pass found none, made after the API server had time to act on the last deletion: until then the holder may still
   * have been able to bind himself again. Rejects with a TargetFailure.
   */
  async withdraw(client: KubeClient, withdrawal: Withdrawal): Promise<void> {
    const deadline = this.#clock.monotonic() + longest;
    const assertTime = () => {
      if (this.#clock.monotonic() > deadline) throw endless();
    };
    await atTarget(async () => {
      const removed = await removeOwnBindings(client, withdrawal);
      await this.#removePlanted(client, withdrawal, { removed, assertTime });
      await unsealBindings(client, withdrawal);
      await removeRequests(client, withdrawal, assertTime);
    });
  }

  /** Where the second pass finds something again, the holder may be binding himself faster than a pass takes. */
  async #removePlanted(
    client: KubeClient,
    dead: DeadCertificates,
    { removed, assertTime }: Progress,
  ): Promise<void> {
    let before = removed;
    for (let pass = 1; ; pass++) {
      const found = await findPlantedBindings(client, dead, assertTime);
      if (found.length + before === 0) return;
      if (found.length > 0 && pass === 2) await sealBindings(client, dead);
      await removePlantedBindings(client, found, assertTime);
      before = 0;
      await sleep(this.#clock, authorizerLag);
    }
  }
}

interface Progress {
  /** Bindings that are gone already. */
  readonly removed: number;
  readonly assertTime: () => void;
}

/** By name and so at once, before anything is searched. Resolves with how many there were. */
async function removeOwnBindings(client: KubeClient, withdrawal: Withdrawal): Promise<number> {
  const { uid, serials } = withdrawal;
  let removed = 0;
  for (const serial of serials.filter((candidate) => isDead(candidate, withdrawal)))
    removed += await remove(client, clusterRoleBindings, outsideName(uid, serial));
  return removed;
}

/** Also those that a process made which did not live to say so. */
async function removeRequests(
  client: KubeClient,
  withdrawal: Withdrawal,
  assertTime: () => void,
): Promise<void> {
  const { uid, serials } = withdrawal;
  const found = new Set(serials);
  const labelSelector = `${labels.ownerUID}=${uid}`;
  const requests = everyObject<KubeObject>(client, certificateSigningRequests, { labelSelector, assertTime });
  for await (const { metadata } of requests) {
    const serial = serialOfOutsideName(uid, metadata.name);
    if (serial !== undefined) found.add(serial);
  }
  for (const serial of [...found].filter((candidate) => isDead(candidate, withdrawal)))
    await remove(client, certificateSigningRequests, outsideName(uid, serial));
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
    'The bindings of withdrawn certificates could not be removed in time: the virtual cluster is slow, or somebody in it makes them again and again.',
  );
