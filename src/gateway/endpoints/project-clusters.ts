import { group } from '../../api/names.ts';
import { type Resource, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import type {
  SpaceInstanceRecord,
  VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import { authorise } from '../../scope/gate/authorise.ts';
import { eachInTurn } from './each-in-turn.ts';
import type { EndpointRequest, EndpointServices } from './endpoint.ts';

type InstanceRecord = SpaceInstanceRecord | VirtualClusterInstanceRecord;
type Services = Pick<EndpointServices, 'targetRecords' | 'permissions'>;

/** Asked about by name, of users who may not see all instances of a project. */
const maxAsked = 50;

/** Names of the clusters that the instances of a project name in `spec.clusterRef.cluster`, of those that the sender may read. */
export async function clustersOf(
  request: EndpointRequest,
  services: Services,
  namespace: string,
): Promise<readonly string[]> {
  const { instances, spaces } = services.targetRecords;
  const names = new Set<string>();
  for (const [resource, records] of [
    [virtualClusterInstances, instances],
    [spaceInstances, spaces],
  ] as const) {
    const reads = new InstanceReads(request, services, { resource, namespace });
    await eachInTurn<InstanceRecord>(request, records.values(), async ({ key, reference }) => {
      const cluster = reference.clusterRef?.cluster ?? '';
      if (cluster === '' || names.has(cluster) || !key.startsWith(`${namespace}/`)) return;
      if (await reads.isAllowed(key.slice(namespace.length + 1))) names.add(cluster);
    });
  }
  return [...names].sort();
}

interface Place {
  readonly resource: Resource;
  readonly namespace: string;
}

/** Whether the sender may read instances of one kind, each by its name. */
class InstanceReads {
  readonly #request: EndpointRequest;
  readonly #services: Services;
  readonly #place: Place;
  #asked = 0;

  constructor(request: EndpointRequest, services: Services, place: Place) {
    this.#request = request;
    this.#services = services;
    this.#place = place;
  }

  async isAllowed(name: string): Promise<boolean> {
    if (!this.#isInScope(name)) return false;
    if (await this.#mayGet('')) return true;
    this.#asked += 1;
    return this.#asked <= maxAsked && (await this.#mayGet(name));
  }

  async #mayGet(name: string): Promise<boolean> {
    const { resource, namespace } = this.#place;
    const { identity } = this.#request.sender.verdict;
    return await this.#services.permissions.isAllowed(identity, {
      ...{ verb: 'get', resource: resource.plural, namespace, name },
    });
  }

  #isInScope(name: string): boolean {
    const { resource, namespace } = this.#place;
    const { sender, asked } = this.#request;
    const read = { resource: resource.plural, subresource: '', apiGroup: group, namespace, name };
    const request = { ...asked, ...read, verb: 'get' };
    return authorise({ gates: sender.verdict.gates, request, place: { isPlatform: true } }).allowed;
  }
}
