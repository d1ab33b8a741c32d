import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Dispatcher } from 'undici';
import { afterAll } from 'vitest';
import { parse, stringify } from 'yaml';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { isNewerVersion } from '../../../src/kube/object.ts';
import type { GatewayWorld } from './gateway-world.ts';
import { knownHolder } from './known-holder.ts';
import { management, ownKeys, ownTokens } from './own-client.ts';

const version = `${management}/version`;
const defaultType = 'application/yaml';

export interface CurlAnswer {
  readonly status: number;
  /** The lines of the head. */
  readonly head: string;
  /** The body as it came. */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
  readonly body: any;
}

interface CurlOptions {
  /** An object is sent in the form of the type. */
  readonly body?: unknown;
  /** Default: YAML. */
  readonly type?: string;
  readonly accept?: string;
}

/** One replica, and what curl needs to reach it. */
interface Replica {
  readonly gateway: RunningGateway;
  readonly config: string;
}

/** A world whose gateway has replicas. */
export interface ReplicatedWorld extends GatewayWorld {
  readonly replicas: readonly RunningGateway[];
}

/** The same with one more replica, which may have another way to the API server. Call it at the top of a file. */
export async function withReplica(
  world: GatewayWorld,
  env = {},
  plane: ControlPlaneAccess = world.plane,
): Promise<ReplicatedWorld> {
  const other = await RunningGateway.start(plane, world.guard, { name: world.name('replica'), env });
  afterAll(async () => void (await other.end()));
  return Object.assign(Object.create(world) as GatewayWorld, { replicas: [world.gateway, other] });
}

/**
 * A holder, who sends and receives what the contract shows. Replicas take turns. Connections are kept, for most of what a curl costs
 * is its own start; {@link CurlHolder.curl} is the program itself.
 */
export class CurlHolder {
  readonly key: string;
  readonly #world: ReplicatedWorld;
  readonly #replicas: readonly Replica[];
  #turn = 0;

  static async with(world: ReplicatedWorld, key: string): Promise<CurlHolder> {
    const replicas = world.replicas.map(async (gateway) => {
      const file = (kind: string) => path.join(world.guard.folder, world.name(kind));
      const [caFile, config] = [file('gateway-ca'), file('curl')];
      await writeFile(caFile, gateway.ca);
      // Not among the arguments, which everybody on a machine sees.
      const lines = [`cacert = "${caFile}"`, `header = "Authorization: Bearer ${key}"`];
      await writeFile(config, lines.join('\n'), { mode: 0o600 });
      return { gateway, config };
    });
    return new CurlHolder(world, key, await Promise.all(replicas));
  }

  /** Counts as a use of the key, which changes its object a moment later. */
  async untilKnown(): Promise<void> {
    await this.#untilAgreed(async (replica) => (await this.#get(replica, version)).status);
  }

  private constructor(world: ReplicatedWorld, key: string, replicas: readonly Replica[]) {
    this.#world = world;
    this.key = key;
    this.#replicas = replicas;
  }

  /**
   * `place` begins behind the base URL. What is made there goes after the tests. Resolves when every replica knows what was changed:
   * the next request goes to another one.
   */
  async send(method: string, place: string, options: CurlOptions = {}): Promise<CurlAnswer> {
    return await this.#sent(method, place, options, ask);
  }

  /** The same by the program curl. */
  async curl(method: string, place: string, options: CurlOptions = {}): Promise<CurlAnswer> {
    return await this.#sent(method, place, options, curl);
  }

  async #sent(method: string, place: string, options: CurlOptions, by: typeof ask): Promise<CurlAnswer> {
    const replica = this.#replicas[this.#turn++ % this.#replicas.length];
    if (replica === undefined) throw new Error('the gateway has no replica');
    const answer = await by({ replica, key: this.key, method, place, ...options });
    if (answer.status === 201 && !place.includes('dryRun')) this.#track(answer.body);
    const { kind, metadata } = answer.body ?? {};
    const collection = { OwnedAccessKey: ownKeys, DirectClusterEndpointToken: ownTokens }[String(kind)];
    if (method === 'GET' || answer.status > 201 || collection === undefined || place.includes('dryRun'))
      return answer;
    await this.#untilAgreed(async (one) => {
      // The version of a list says how far the replica has got.
      const list = await this.#get(one, `${collection}?limit=1`);
      const position = list.body.metadata.resourceVersion;
      if (list.status === 200 && isNewerVersion(metadata.resourceVersion, position)) return 'behind';
      return (await this.#get(one, `${collection}/${metadata.name}`)).status;
    });
    return answer;
  }

  /** It may be that they agree on a refusal. */
  async #untilAgreed(ask: (replica: Replica) => Promise<unknown>): Promise<void> {
    await until('the replicas agree', async () => {
      const said = new Set(await Promise.all(this.#replicas.map(ask)));
      return said.size === 1 && !said.has('behind');
    });
  }

  async #get(replica: Replica, place: string): Promise<CurlAnswer> {
    return await ask({ replica, key: this.key, method: 'GET', place });
  }

  /** A new access key of this holder, where it stands, and its own holder. */
  async make(spec: object = {}, metadata: object = {}) {
    const { status, text: shown, body } = await this.send('POST', ownKeys, { body: { metadata, spec } });
    if (status !== 201) throw new Error(`no key was made: ${shown}`);
    const holder = await CurlHolder.with(this.#world, body.spec.key);
    return { object: body, place: `${ownKeys}/${body.metadata.name}`, holder };
  }

  #track(body: Stored): void {
    if (body.metadata?.uid !== undefined) this.#world.admin.track(body);
  }
}

/** The holder of a new key that the gateway accepts. */
export async function curlHolder(world: ReplicatedWorld, spec: object): Promise<CurlHolder> {
  const holder = await CurlHolder.with(world, (await knownHolder(world, spec)).key);
  await holder.untilKnown();
  return holder;
}

const inForm = (body: unknown, type: string): string =>
  typeof body === 'string'
    ? body
    : /json$/.test(type)
      ? JSON.stringify(body)
      : stringify(body, { version: '1.1' });

interface Question extends CurlOptions {
  readonly replica: Replica;
  readonly key: string;
  readonly method: string;
  readonly place: string;
}

/** With the headers of curl. */
async function ask(question: Question): Promise<CurlAnswer> {
  const { replica, key, method, place, body, type = defaultType, accept = '*/*' } = question;
  const sent = body === undefined ? {} : { body: inForm(body, type) };
  const answer = await replica.gateway.send(place, {
    ...{ key, method: method as Dispatcher.HttpMethod, headersTimeout: 60_000, ...sent },
    headers: { accept, ...(body === undefined ? {} : { 'content-type': type }) },
  });
  const lines = Object.entries(answer.headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`),
  );
  return answerOf(answer.statusCode, lines.join(''), await answer.body.text());
}

async function curl(question: Question): Promise<CurlAnswer> {
  const { replica, method, place, body, type = defaultType, accept } = question;
  const sent = body === undefined ? [] : ['--header', `Content-Type: ${type}`, '--data-binary', '@-'];
  const asked = accept === undefined ? [] : ['--header', `Accept: ${accept}`];
  const args = ['--silent', '--show-error', '--include', '--max-time', '60', '--config', replica.config];
  const url = replica.gateway.url + place;
  const child = spawn('curl', [...args, ...sent, ...asked, '--request', method, url]);
  child.stdin.on('error', () => undefined);
  child.stdin.end(inForm(body, type));
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (exitCode !== 0) throw new Error(`curl ended with ${exitCode}: ${stderr}`);
  // An answer that says to go on stands before the one that counts.
  const [, status, head = '', received = ''] =
    /^(?:HTTP\/1\.1 1\d\d.*\r\n(?:.+\r\n)*\r\n)*HTTP\/1\.1 (\d+).*\r\n((?:.+\r\n)*)\r\n([\s\S]*)$/.exec(
      stdout,
    ) ?? [];
  return answerOf(Number(status), head, received);
}

function answerOf(status: number, head: string, received: string): CurlAnswer {
  const isJSON = /^content-type: application\/json\b/im.test(head);
  const read = () => (isJSON ? JSON.parse(received) : parse(received, { version: '1.1' }));
  return { status, head, text: received, body: received === '' ? undefined : read() };
}
