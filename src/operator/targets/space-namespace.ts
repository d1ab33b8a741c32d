import { reasons } from '../../api/reasons.ts';
import { namespaces } from '../../api/resources.ts';
import type { Clock } from '../../kube/clock.ts';
import { isNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { TargetClients } from '../../platform/targets/target-clients.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { ClusterRecord } from '../../platform/targets/target-record.ts';
import { openSession } from './target-session.ts';

export interface SpaceNamespaceOptions {
  readonly clients: Pick<TargetClients, 'open'>;
  readonly clock: Clock;
}

/** Looks in a cluster for the namespace that a space is. */
export class SpaceNamespace {
  readonly #options: SpaceNamespaceOptions;

  constructor(options: SpaceNamespaceOptions) {
    this.#options = options;
  }

  /** Why there is none. What cannot be asked is no problem of the space: the Cluster says so itself. */
  async problem({ uid, kubeConfig }: ClusterRecord, name: string): Promise<TargetProblem | undefined> {
    if (kubeConfig === undefined) return undefined;
    const { clients, clock } = this.#options;
    const opened = await clients.open({ uid, secret: kubeConfig });
    if ('problem' in opened) return undefined;
    const { client, limits } = openSession(opened.target.client, clock);
    try {
      const { metadata } = await client.get<KubeObject>(namespaces, { name }, limits());
      return metadata.deletionTimestamp === undefined ? undefined : missing('is being deleted');
    } catch (error) {
      return isNotFound(error) ? missing('does not exist') : undefined;
    }
  }
}

/** Its name stands in the spec. */
const missing = (how: string): TargetProblem => ({
  reason: reasons.namespaceNotFound,
  message: `The namespace in spec.clusterRef ${how} in its cluster: create it there. Latchkey makes no namespaces.`,
});
