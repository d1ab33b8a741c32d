import { groups } from '../../../api/names.ts';
import type { Resource } from '../../../api/resources.ts';
import type { Identity } from '../../../credentials/identity.ts';
import { backOffDelay } from '../../../kube/back-off.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../kube/clock.ts';
import { isGone } from '../../../kube/kube-error.ts';
import { keyOf, type ObjectKey } from '../../../kube/object.ts';
import { sleep } from '../../../kube/sleep.ts';
import type { Logger } from '../../../logger.ts';
import type { Arrivals } from '../../index/arrivals.ts';

interface RemovalsOptions {
  /** Of objects that name none. */
  readonly resource: Resource;
  /** Acts as the user who made the object. */
  readonly client: Pick<KubeClient, 'as'>;
  readonly arrivals: Pick<Arrivals, 'on'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** An object that was made for a client who did not get what it was for. Its name is random, so it has no other meaning. */
export interface MadeObject {
  readonly resource?: Resource;
  readonly identity: Identity;
  readonly key: ObjectKey;
  /** Undefined where no one knows whether it is there. */
  readonly uid: string | undefined;
}

const attempts = 6;
/** Between two attempts, milliseconds. */
const pauses = { initialMs: 1_000, maxMs: 15_000 };
/** How late a request that got no answer may still take effect: API servers end theirs after a minute. */
const lateMs = 60_000;

/** Takes away what no one has got. What is not taken away here is marked as ephemeral, and goes some time after its end. */
export class Removals {
  readonly #options: RemovalsOptions;
  readonly #underway = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: RemovalsOptions) {
    this.#options = options;
  }

  /** Work that may find out at its end that there is something to remove: `drain` waits until it calls back. */
  begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#track(promise);
    return resolve;
  }

  /** Resolves when it was tried once. It is tried again in the background where that failed. */
  async remove(made: MadeObject): Promise<void> {
    if (!(await this.#try(made))) this.#track(this.#goOn(made));
  }

  /** For what may not be there yet: as soon as the watch brings it, or at the end of the time that this can take. Resolves then. */
  removeWhenItComes(made: MadeObject): Promise<void> {
    const removal = made.uid === undefined ? this.#awaitAndRemove(made) : this.remove(made);
    this.#track(removal);
    return removal;
  }

  /** Ends all waiting; what is left is tried once more. */
  async drain(): Promise<void> {
    this.#stopping.abort();
    while (this.#underway.size > 0) await Promise.all(this.#underway);
  }

  #track(work: Promise<void>): void {
    this.#underway.add(work);
    void work.finally(() => this.#underway.delete(work));
  }

  async #awaitAndRemove(made: MadeObject): Promise<void> {
    const { arrivals, clock } = this.#options;
    const arrived = new AbortController();
    let uid: string | undefined;
    const end = arrivals.on(keyOf(made.key), ({ metadata }) => {
      uid = metadata.uid;
      arrived.abort();
    });
    await sleep(clock, lateMs, AbortSignal.any([arrived.signal, this.#stopping.signal]));
    end();
    await this.remove({ ...made, uid });
  }

  async #goOn(made: MadeObject): Promise<void> {
    const { clock, random, log } = this.#options;
    const { resource = this.#options.resource } = made;
    const { signal } = this.#stopping;
    for (let failures = 0; failures < attempts - 1; failures += 1) {
      await sleep(clock, backOffDelay(failures, { ...pauses, random }), signal);
      if (await this.#try(made)) return;
      if (signal.aborted) break;
    }
    log.warn(
      { kind: resource.kind, ...made.key },
      'an object that no one has got is left until some time after its end',
    );
  }

  async #try(made: MadeObject): Promise<boolean> {
    const { client } = this.#options;
    const { resource = this.#options.resource, key, uid } = made;
    const { user, groups: own } = made.identity;
    const holder = client.as({ user, groups: [...own, groups.selfService] });
    try {
      await holder.delete(resource, key, uid === undefined ? {} : { preconditions: { uid } });
      return true;
    } catch (error) {
      return isGone(error);
    }
  }
}
