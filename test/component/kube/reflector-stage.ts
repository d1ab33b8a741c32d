import { configMaps } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import type { ReflectorClient, ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import type { Logger } from '../../../src/logger.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import type { ObjectStorage } from '../../fakes/object-storage.ts';
import { waitFor } from '../../fakes/wait-for.ts';

type Options = Partial<ReflectorOptions<StoredRecord>>;

/** Between a failure and the next try. */
export const backOffMs = 50;

/** A watch that goes on from a known resourceVersion. */
export const isResumed = ({ isWatch, query }: Exchange): boolean => isWatch && query.has('resourceVersion');

/** A reflector of config maps, with an API server that the test scripts and a clock that it moves. */
export class ReflectorStage {
  readonly server: FakeApiServer;
  readonly objects: ObjectStorage;
  readonly clock = new FakeClock();
  readonly client: KubeClient;
  readonly store = new Store<StoredRecord>();
  readonly logged: string[] = [];
  /** Watches whose answer has begun. */
  #opened = 0;
  readonly #defaults: Options;
  readonly #abort = new AbortController();
  #reflector: Reflector<StoredRecord> | undefined;
  #running = Promise.resolve();

  /** Options that the reflectors of a file have in common. */
  static async open(defaults: Options): Promise<ReflectorStage> {
    return new ReflectorStage(await FakeApiServer.start(), defaults);
  }

  private constructor(server: FakeApiServer, defaults: Options) {
    this.server = server;
    this.objects = server.storage('configmaps');
    const { clock } = this;
    this.client = createKubeClient({ kubeConfig: server.kubeConfig(), userAgent: 'tester', clock });
    this.#defaults = defaults;
  }

  get reflector(): Reflector<StoredRecord> {
    if (this.#reflector === undefined) throw new Error('no reflector was started');
    return this.#reflector;
  }

  start(options: Options = {}): void {
    const { clock, store } = this;
    this.#reflector = new Reflector({
      ...{
        client: this.#counting(),
        clock,
        store,
        toRecord,
        log: this.#log(),
        resource: configMaps,
        random: () => 1,
      },
      ...{ backOffMs: [backOffMs, backOffMs] },
      ...this.#defaults,
      ...options,
    });
    this.#running = this.#reflector.run(this.#abort.signal);
  }

  put(name: string): void {
    this.objects.put({ metadata: { name } });
  }

  requests(matches: (exchange: Exchange) => boolean): readonly Exchange[] {
    return this.server.exchanges.filter(matches);
  }

  resumed(): readonly Exchange[] {
    return this.requests(isResumed);
  }

  /** The watch that was resumed last. */
  get present(): Exchange {
    const watch = this.resumed().at(-1);
    if (watch === undefined) throw new Error('no watch was resumed');
    return watch;
  }

  async untilResumed(count: number): Promise<void> {
    await waitFor(`watch ${count}`, () => this.resumed().length === count);
  }

  /** All watches that are asked for are open, so that their limits run. */
  async untilOpen(): Promise<void> {
    await waitFor('all watches are open', () => this.#opened === this.server.watches.length);
  }

  /** Resolves when so many failures were logged. */
  async untilLogged(count: number): Promise<void> {
    await waitFor(`failure ${count}`, () => this.logged.length === count);
  }

  /** The same, with the pause that follows. */
  async untilFailed(count: number): Promise<void> {
    await this.untilLogged(count);
    this.clock.advance(backOffMs);
  }

  /** Ends the reflector. */
  async end(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async close(): Promise<void> {
    await this.end();
    await this.client.close();
    await this.server.stop();
  }

  #counting(): ReflectorClient {
    const { client } = this;
    const counted =
      (from: KubeClient): KubeClient['watch'] =>
      (path, query, options) => {
        const onOpen = () => {
          this.#opened++;
          options.onOpen?.();
        };
        return from.watch(path, query, { ...options, onOpen });
      };
    return {
      list: (resource, options) => client.list(resource, options),
      overOneConnection: () => {
        const single = client.overOneConnection();
        return Object.assign(Object.create(single) as KubeClient, {
          list: single.list.bind(single),
          close: single.close.bind(single),
          watch: counted(single),
        });
      },
      watch: counted(client),
    };
  }

  #log(): Logger {
    const keep = (keys: object, text: string) =>
      void this.logged.push(`${text}: ${(keys as { err?: Error }).err?.message ?? ''}`);
    return { debug: keep, info: keep, warn: keep, error: keep };
  }
}

const toRecord = ({ metadata }: KubeObject): StoredRecord => ({
  key: keyOf(metadata),
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});
