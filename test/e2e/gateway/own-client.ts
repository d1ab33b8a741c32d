import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
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

/** An access key or a token, in plain. */
export const credential = /lk_[0-9A-Za-z]{49}|eyJ[\w-]+\.[\w-]+\.[\w-]+/;

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

  /** A watch that the gateway has opened; the path begins below the base URL. */
  async watch(path: string): Promise<OwnWatch> {
    const { statusCode, body } = await this.#world.gateway.send(path, { key: this.key });
    if (statusCode !== 200) throw new Error(`no watch: ${await body.text()}`);
    return new OwnWatch(body);
  }

  /** Made objects go after the tests. */
  #track(body: unknown): void {
    const made = body as Stored | undefined;
    if (made?.metadata.uid !== undefined) this.#world.admin.track(made);
  }
}

interface WatchEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: events are checked by the tests
  readonly object: any;
}

/** A watch that goes on beside the test. */
export class OwnWatch {
  readonly #body: Readable;
  /** How it ends for its reader. */
  readonly ended: Promise<'complete' | 'cut'>;
  #text = '';

  constructor(body: Readable) {
    this.#body = body;
    body.setEncoding('utf8').on('data', (chunk: string) => {
      this.#text += chunk;
    });
    this.ended = once(body, 'end').then(
      () => 'complete',
      () => 'cut',
    );
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }

  /** The events that have come whole so far. */
  get events(): readonly WatchEvent[] {
    const lines = this.#text.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  /** Waits until the events are as `holds` says, and resolves with them. */
  async until(
    what: string,
    holds: (events: readonly WatchEvent[]) => boolean,
  ): Promise<readonly WatchEvent[]> {
    const look = async () => {
      const { events } = this;
      return holds(events) && events;
    };
    return await until(what, look, { seen: () => this.events.map(({ type }) => type) });
  }

  end(): void {
    this.#body.on('error', () => undefined).destroy();
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
