import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';
import { everywhere, questionOf } from '../endpoints/endpoints.ts';
import { spaceNamespace } from '../endpoints/projects/space-namespace.ts';
import type { Endpoint, EndpointServices } from '../endpoints/shared/endpoint.ts';
import { isNamespaceMade } from '../gate/authorise.ts';

/** Requests that a direct endpoint answers itself: those that the gateway answers in every target. */
export class TargetEndpoints {
  readonly #everywhere: ReadonlyMap<string, Endpoint>;
  readonly #spaceNamespace: Endpoint;

  constructor(services: Parameters<typeof everywhere>[0] & Pick<EndpointServices, 'held'>) {
    this.#everywhere = new Map(Object.entries(everywhere(services)));
    this.#spaceNamespace = spaceNamespace(services);
  }

  find(asked: RequestMeaning): Endpoint | undefined {
    return isNamespaceMade(asked) ? this.#spaceNamespace : this.#everywhere.get(questionOf(asked));
  }

  findOnPlatform(): undefined {}

  findPublic(): undefined {}
}
