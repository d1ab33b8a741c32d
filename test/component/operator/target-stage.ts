import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import type { Clock } from '../../../src/kube/clock.ts';
import { silentLogger } from '../../../src/logger.ts';
import { PlatformIdentity } from '../../../src/operator/targets/platform-identity.ts';
import { sharersOf } from '../../../src/operator/targets/sharers.ts';
import { TargetConnector } from '../../../src/operator/targets/target-connector.ts';
import { TargetSecrets } from '../../../src/operator/targets/target-secrets.ts';
import { TargetAddresses } from '../../../src/platform/targets/addresses.ts';
import { TargetClients } from '../../../src/platform/targets/target-clients.ts';
import type { ConnectedRecord } from '../../../src/platform/targets/target-record.ts';
import { adminDocument, base64 } from '../../builders/admin-kube-config.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';

export const owner = { kind: 'VirtualClusterInstance', uid: 'u1' } as const;
export const connection = {
  owner,
  kubeConfig: { namespace: 'p-a', name: 'vc-shop', key: 'config' },
  clusterRole: 'cluster-admin',
};
export const accessKey = 'latchkey-targets/latchkey-target-u1';
export const impersonator = 'system:serviceaccount:kube-system:latchkey-impersonator';

/** A target that does what it is asked: gives a token for each request, and knows those that it gave. */
export class PlayedTarget {
  readonly server: FakeApiServer;
  readonly tokens: string[] = [];
  /** The life of a token in its answers, milliseconds. */
  lifeMs = 86_400_000;
  /** Of Kubernetes, after `1.`. */
  minor = '36';
  readonly #clock: Clock;
  readonly #name: string;

  static async start(clock: Clock, name: string): Promise<PlayedTarget> {
    return new PlayedTarget(await FakeApiServer.start(), clock, name);
  }

  private constructor(server: FakeApiServer, clock: Clock, name: string) {
    this.server = server;
    this.#clock = clock;
    this.#name = name;
    server.script((exchange) => this.#answer(exchange));
    showAs(server, name);
  }

  /** Its administrator kubeconfig. */
  get kubeConfig(): string {
    const { url, authority } = this.server;
    return JSON.stringify(
      adminDocument({ server: url, authority, user: { token: `admin-of-${this.#name}` } }),
    );
  }

  /** Methods and last parts of the paths of all requests so far. */
  get requests(): readonly string[] {
    return this.server.exchanges.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);
  }

  /** Everybody who has spoken to it. */
  get bearers(): ReadonlySet<string> {
    return new Set(this.server.exchanges.map(({ headers }) => headers.authorization ?? ''));
  }

  #answer(exchange: Exchange): boolean {
    const { path, headers } = exchange;
    if (path === '/version') {
      exchange.answer(200, { major: '1', minor: this.minor });
      return true;
    }
    if (path.endsWith('/token')) {
      const token = `${this.#name}-token-${this.tokens.length}-${'x'.repeat(20)}`;
      this.tokens.push(token);
      const end = new Date(this.#clock.now() + this.lifeMs).toISOString();
      exchange.answer(201, { metadata: {}, status: { token, expirationTimestamp: end } });
      return true;
    }
    if (!path.endsWith('/selfsubjectreviews')) return false;
    const known = this.tokens.some((token) => headers.authorization === `Bearer ${token}`);
    if (known) exchange.answer(201, { metadata: {}, status: { userInfo: { username: impersonator } } });
    else exchange.refuse(401, 'Unauthorized');
    return true;
  }
}

/** By this UID a server is told from all others. */
export function showAs(server: FakeApiServer, cluster: string): void {
  server
    .storage('namespaces')
    .put({ metadata: { name: 'kube-system', uid: `system-of-${cluster}` } } as never);
}

/** The value of `left` after a virtual cluster was connected. */
export const everything = [
  ['latchkey-impersonator'],
  ['latchkey-impersonator'],
  ['latchkey-impersonator', 'management.platform.sh:users'],
];
export const nothing = [[], [], []];

interface Operator {
  readonly client: KubeClient;
  readonly clients: TargetClients;
  readonly connector: TargetConnector;
}

async function stop({ client, clients }: Operator): Promise<void> {
  await clients.close();
  await client.close();
}

/** A platform, a target, and the connector between them. */
export class TargetStage {
  readonly platform: FakeApiServer;
  readonly target: PlayedTarget;
  /** UIDs of other objects of the platform. */
  readonly others = new Set<string>();
  /** Objects of the platform that may use the target too. */
  readonly sharers: ConnectedRecord[] = [];
  /** Keys of those that were to be checked soon. */
  readonly rechecked: string[] = [];
  guard: () => void = () => undefined;
  readonly #clock: Clock;
  #operator: Operator;

  static async open(clock: Clock): Promise<TargetStage> {
    const stage = new TargetStage(await FakeApiServer.start(), await PlayedTarget.start(clock, 'a'), clock);
    showAs(stage.platform, 'platform');
    stage.useKubeConfig(stage.target.kubeConfig);
    return stage;
  }

  private constructor(platform: FakeApiServer, target: PlayedTarget, clock: Clock) {
    this.platform = platform;
    this.target = target;
    this.#clock = clock;
    this.#operator = this.#start();
  }

  /** Of the platform. */
  get client(): KubeClient {
    return this.#operator.client;
  }

  get clients(): TargetClients {
    return this.#operator.clients;
  }

  get connector(): TargetConnector {
    return this.#operator.connector;
  }

  /** Another operator takes over, with connections of its own. */
  async restart(): Promise<void> {
    await stop(this.#operator);
    this.#operator = this.#start();
  }

  #start(): Operator {
    const clock = this.#clock;
    const shared = { clock, random: () => 0.5, userAgent: 'test' };
    const client = createKubeClient({ ...shared, kubeConfig: this.platform.kubeConfig() });
    const clients = new TargetClients({
      ...shared,
      platform: client,
      addresses: new TargetAddresses(['127.0.0.0/8']),
      log: silentLogger,
      writeGuard: () => this.guard(),
      isOwed: () => false,
    });
    const secrets = new TargetSecrets(client);
    const isOther = (uid: string) => this.others.has(uid);
    const platform = new PlatformIdentity(client);
    const connector = new TargetConnector({
      ...{ clients, secrets, platform, clock, isOther },
      sharersOf: (uid) => sharersOf(uid, this.sharers, clients),
      recheck: ({ key }) => this.rechecked.push(key),
    });
    return { client, clients, connector };
  }

  /** Puts an administrator kubeconfig where the instance looks for it; none: takes it away. */
  useKubeConfig(text: string | undefined): void {
    const { namespace, name, key } = connection.kubeConfig;
    const secrets = this.platform.storage('secrets');
    if (text === undefined) secrets.remove(`${namespace}/${name}`);
    else secrets.put({ metadata: { namespace, name }, data: { [key]: base64(text) } } as never);
  }

  /** The Secret of the target, with access in it or without; undefined when there is none. */
  get secret(): { readonly data?: Record<string, string> } | undefined {
    return this.platform.storage('secrets').get(accessKey) as { data?: Record<string, string> } | undefined;
  }

  /** The stored access; undefined when there is none. */
  get access(): Record<'server' | 'ca.crt' | 'token', string> | undefined {
    const data = this.secret?.data;
    if (data === undefined) return undefined;
    const texts = Object.entries(data).map(([entry, text]) => [
      entry,
      Buffer.from(text, 'base64').toString(),
    ]);
    return Object.fromEntries(texts);
  }

  /** Lists Latchkey's objects in the target: accounts, roles, bindings. */
  get left(): readonly (readonly string[])[] {
    const { server } = this.target;
    return ['serviceaccounts', 'clusterroles', 'clusterrolebindings'].map((plural) =>
      server
        .storage(plural)
        .list()
        .map(({ metadata }) => metadata.name),
    );
  }

  async close(): Promise<void> {
    await stop(this.#operator);
    await this.platform.stop();
    await this.target.server.stop();
  }
}
