import { spaceInstances } from '../../api/resources.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import { authorise } from '../../scope/gate/authorise.ts';
import { apiPrefix, formatTarget, type RequestTarget } from '../../scope/request-path.ts';
import { resolveRequest } from '../../scope/requests/resolve-request.ts';
import type { EndpointRequest, EndpointServices } from './endpoint.ts';

type Services = Pick<EndpointServices, 'targetRecords' | 'permissions'>;

/** Of one answer. Who may use all instances of a namespace, or all there are, needs one question for them. */
const maxAsked = 500;
/** Stands for the namespace that a space is: a look at what there is takes any. */
const anyPlace = { namespace: 'any', isPlatform: true } as const;

/** Whether the sender of a request may enter instances of one kind: the same as at the gate, when it enters one of them. */
export class InstanceUses {
  readonly #request: Pick<EndpointRequest, 'sender'>;
  readonly #services: Services;
  readonly #resource: string;
  /** Answers of this request, by namespace and name. */
  readonly #known = new Map<string, Promise<boolean>>();
  #isCutShort = false;

  constructor(request: Pick<EndpointRequest, 'sender'>, services: Services, resource: string) {
    this.#request = request;
    this.#services = services;
    this.#resource = resource;
  }

  /** Whether some were not asked about. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  async isAllowed(namespace: string, name: string): Promise<boolean> {
    const project = this.#services.targetRecords.findProject(namespace);
    if (project === undefined || !this.#isInScope(this.#targetOf(project, name))) return false;
    return (
      (await this.#mayUse('', '')) ||
      (await this.#mayUse(namespace, '')) ||
      (await this.#mayUse(namespace, name))
    );
  }

  #targetOf(project: string, name: string): RequestTarget {
    return this.#resource === spaceInstances.plural
      ? { kind: 'space', project, space: name }
      : { kind: 'virtualCluster', project, virtualCluster: name };
  }

  /** Whether its scopes let it see what there is in that target. */
  #isInScope(target: RequestTarget): boolean {
    const path = formatTarget(target);
    if (path === undefined) return false;
    const request = resolveRequest({
      ...{ method: 'GET', target: `${apiPrefix}${path}/version`, contentType: undefined },
    });
    if ('problem' in request) return false;
    return authorise({ gates: this.#request.sender.verdict.gates, request, place: anyPlace }).allowed;
  }

  async #mayUse(namespace: string, name: string): Promise<boolean> {
    const key = `${namespace}/${name}`;
    const known = this.#known.get(key);
    if (known !== undefined) return await known;
    if (this.#known.size >= maxAsked) {
      this.#isCutShort = true;
      return false;
    }
    const entry: AccessQuestion = { verb: 'use', resource: this.#resource, namespace, name };
    const { identity } = this.#request.sender.verdict;
    const answer = this.#services.permissions.isAllowed(identity, entry);
    this.#known.set(key, answer);
    return await answer;
  }
}
