import type { Dispatcher } from 'undici';
import type { Stored } from '../../../lab/operator/api.ts';
import type { GatewayWorld } from './gateway-world.ts';
import { knownHolder } from './known-holder.ts';

export interface OwnAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came. */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
  readonly body: any;
}

interface Sent {
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
}

export const management = '/kubernetes/management';
export const ownAPI = `${management}/apis/management.platform.sh/v1`;
export const ownKeys = `${ownAPI}/ownedaccesskeys`;
export const ownTokens = `${ownAPI}/directclusterendpointtokens`;

/** Through which gateway requests go, and who clears away what they made. */
type Way = Pick<GatewayWorld, 'gateway' | 'admin'>;

/** Requests with one key, by path below the base URL. */
export class OwnClient {
  readonly #world: Way;
  readonly key: string;

  constructor(world: Way, key: string) {
    this.#world = world;
    this.key = key;
  }

  async send(method: string, path: string, { body, type, accept }: Sent = {}): Promise<OwnAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await this.#world.gateway.send(path, {
      method: method as Dispatcher.HttpMethod,
      key: this.key,
      headers: {
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
        ...(accept === undefined ? {} : { accept }),
      },
      ...(body === undefined ? {} : { body: text }),
    });
    const received = await answer.body.text();
    const result = {
      status: answer.statusCode,
      headers: answer.headers,
      text: received,
      body: parsed(received),
    };
    if (result.status === 201 && !path.includes('dryRun')) this.#track(result.body);
    return result;
  }

  /** Made objects go after the tests. */
  #track(body: unknown): void {
    const made = body as Stored | undefined;
    if (made?.metadata.uid !== undefined) this.#world.admin.track(made);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The holder of a new key, and its object. */
export async function ownClient(world: GatewayWorld, spec: object) {
  const { key, object } = await knownHolder(world, spec);
  return Object.assign(new OwnClient(world, key), { object });
}
