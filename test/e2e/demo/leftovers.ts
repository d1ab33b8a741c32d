import { until } from '../../../lab/operator/until.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  clusters,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  roleBindings,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { isNotFound } from '../../../src/kube/kube-error.ts';
import type { KubeObject } from '../../../src/kube/object.ts';

const roles: Resource = { ...roleBindings, kind: 'Role', plural: 'roles' };

/** The kinds that pages make. Kubeconfigs and tokens go before the keys above them. */
const kinds = [
  ...[virtualClusterInstanceKubeConfigs, directClusterEndpointTokens, ownedAccessKeys],
  ...[virtualClusterInstances, spaceInstances, clusters, roles, roleBindings],
  ...[clusterRoles, clusterRoleBindings],
];

interface Item {
  readonly resource: Resource;
  readonly metadata: KubeObject['metadata'];
}

/** A deleted key of a login keeps its name until its token is of no use. */
const isSpent = ({ metadata }: KubeObject): boolean =>
  metadata.name.startsWith('exchanged-') && metadata.deletionTimestamp !== undefined;

const placeOf = ({ resource, metadata }: Item): string =>
  `${resource.kind}/${metadata.namespace ?? ''}/${metadata.name}`;

/** Takes away what a page leaves, so that the next one finds the demo as a reader does who reads that page alone. */
export class Leftovers {
  readonly #client: KubeClient;
  #known: ReadonlySet<string> = new Set();

  /** `kubeconfig` is that of an administrator. */
  constructor(kubeconfig: string) {
    const source = kubeConfigSource({ file: kubeconfig });
    this.#client = createKubeClient({ kubeConfig: source, userAgent: 'latchkey-test' });
  }

  /** Keeps what is there now. */
  async remember(): Promise<void> {
    this.#known = new Set((await this.#items()).map(placeOf));
  }

  async remove(): Promise<void> {
    for (const item of await this.#unknown()) await this.#delete(item);
    const left = async () => (await this.#unknown()).map(placeOf);
    await until('nothing of the page is left', async () => (await left()).length === 0, {
      ...{ timeoutMs: 90_000, everyMs: 100 },
    });
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #unknown(): Promise<readonly Item[]> {
    return (await this.#items()).filter((item) => !this.#known.has(placeOf(item)));
  }

  async #items(): Promise<readonly Item[]> {
    const lists = kinds.map(async (resource) => {
      const { items } = await this.#client.list<KubeObject>(resource);
      return items.filter((item) => !isSpent(item)).map(({ metadata }) => ({ resource, metadata }));
    });
    return (await Promise.all(lists)).flat();
  }

  async #delete({ resource, metadata: { name, namespace } }: Item): Promise<void> {
    try {
      await this.#client.delete(resource, namespace === undefined ? { name } : { name, namespace });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
