import { namespaces } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isForbidden, isNotFound } from '../../kube/kube-error.ts';
import { type KubeObject, uidOf } from '../../kube/object.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import { problemInTarget } from './target-failure.ts';
import type { TargetSession } from './target-session.ts';

/** The namespace that every API server makes for itself, once. Its UID tells one cluster from all others, whatever it is called. */
const key = { name: 'kube-system' };

/** Knows the platform's own API server where a kubeconfig leads to it. */
export class PlatformIdentity {
  readonly #client: Pick<KubeClient, 'get'>;
  #uid: string | undefined;

  /** `client`: of the platform. */
  constructor(client: Pick<KubeClient, 'get'>) {
    this.#client = client;
  }

  /**
   * Whether a target is the platform. One that does not show who it is counts as the platform, which guards more.
   * Resolves with why the target cannot be asked.
   * @throws what requests to the platform throw.
   */
  async is({ client, limits }: TargetSession): Promise<boolean | TargetProblem> {
    this.#uid ??= uidOf(await this.#client.get<KubeObject>(namespaces, key));
    try {
      const uid = uidOf(await client.get<KubeObject>(namespaces, key, limits()));
      return uid === undefined || uid === this.#uid;
    } catch (error) {
      return isForbidden(error) || isNotFound(error) ? true : problemInTarget(error);
    }
  }
}
