import { randomUUID } from 'node:crypto';
import { annotations } from '../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { isConflict, isNotFound } from '../../src/kube/kube-error.ts';

interface Live {
  readonly resource: Resource;
  readonly name: string;
}

/** Objects that exist at the same time; from then on each new one costs an old one. */
const population = 200;

/** Makes, changes and deletes credentials, in turn, and so that there are never more than a few hundred. */
export class Churn {
  readonly #client: KubeClient;
  readonly #live: Live[] = [];
  readonly #turns: readonly (() => Promise<unknown>)[];
  #step = 0;
  done = 0;

  constructor(client: KubeClient) {
    this.#client = client;
    this.#turns = [
      () => this.#create(ownedAccessKeys),
      () => this.#disable(),
      () => this.#create(ownedAccessKeys, true),
      () => this.#rotate(),
      () => this.#create(directClusterEndpointTokens, true),
      () => this.#deleteOldest(),
      () => this.#deleteOldest(),
      () => this.#deleteOldest(),
    ];
  }

  /** The next operation. What another one has overtaken, such as a change of what is deleted, is no failure. */
  async next(): Promise<void> {
    const turn = this.#turns[this.#step++ % this.#turns.length];
    await turn?.().catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
    this.done += 1;
  }

  async #create(resource: Resource, hasSecret = false): Promise<void> {
    const name = `soak-${randomUUID()}`;
    const { group, version, kind } = resource;
    const secretRef = hasSecret ? { secretRef: { namespace: 'default', name } } : {};
    const spec = { ...secretRef, ttl: 3_600, scope: { clusters: [{ cluster: 'east' }] } };
    await this.#client.create(resource, {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name },
      spec,
    });
    this.#live.push({ resource, name });
  }

  async #disable(): Promise<void> {
    const { resource, name } = this.#some((live) => live.resource === ownedAccessKeys) ?? {};
    const patch = { spec: { disabled: this.#step % 16 < 8 } };
    if (resource !== undefined && name !== undefined)
      await this.#client.mergePatch(resource, { name }, patch);
  }

  async #rotate(): Promise<void> {
    const { resource, name } = this.#some(() => true) ?? {};
    const patch = { metadata: { annotations: { [annotations.rotate]: String(this.#step) } } };
    if (resource !== undefined && name !== undefined)
      await this.#client.mergePatch(resource, { name }, patch);
  }

  /** Another one each time. */
  #some(isMeant: (live: Live) => boolean): Live | undefined {
    const meant = this.#live.filter(isMeant);
    return meant[this.#step % Math.max(1, meant.length)];
  }

  async #deleteOldest(): Promise<void> {
    if (this.#live.length <= population) return;
    const { resource, name } = this.#live.shift() as Live;
    await this.#client.delete(resource, { name });
  }
}
