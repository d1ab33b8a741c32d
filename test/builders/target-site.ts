import type { Socket } from 'node:net';
import { afterEach } from 'vitest';
import { asObject, parseJSON } from '../../src/api/json.ts';
import { labels } from '../../src/api/names.ts';
import type { Resource } from '../../src/api/resources.ts';
import { TargetRecords } from '../../src/gateway/index/target-records.ts';
import type { WatchEvent } from '../../src/kube/client/watch-stream.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { toProjectRecord } from '../../src/platform/targets/project-record.ts';
import {
  toClusterRecord,
  toInstanceRecord,
  toSpaceRecord,
} from '../../src/platform/targets/target-record.ts';
import { type GatewayStage, gatewayStage, type StageOptions, verdictFor } from './gateway-stage.ts';

const key = 'a-key-that-alice-chose-herself';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const created = '2026-01-01T00:00:00Z';

export function targetObject(
  kind: string,
  name: string,
  namespace?: string,
): KubeObject & { readonly status: object } {
  return {
    ...{ apiVersion: 'management.platform.sh/v1', kind },
    metadata: {
      ...{ name, uid: `uid-${name}`, resourceVersion: '7', creationTimestamp: created, labels: { name } },
      ...(namespace === undefined ? {} : { namespace }),
    } as KubeObject['metadata'],
    spec: { clusterRef: { cluster: 'eu', namespace: 'a' } },
    status: { phase: 'Ready', state: 'Ready' },
  } as never;
}

interface Question {
  readonly verb: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface TargetSite {
  /** `verb resource namespace/name`; an empty name or namespace allows all. */
  readonly rights?: readonly string[];
  readonly scope?: Record<string, unknown>;
  readonly instances?: readonly (readonly [namespace: string, name: string])[];
  readonly isIncomplete?: boolean;
  /** In an annotation of each instance. */
  readonly annotationBytes?: number;
  readonly stage?: StageOptions;
}

const defaults = [
  ['p-red', 'shop'],
  ['p-red', 'web'],
  ['p-blue', 'shop'],
] as const;

interface Listing {
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
}

const ok = (body: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** The API server behind the gateway: RBAC, and its lists. */
class Platform {
  readonly asked: string[] = [];
  /** The limit of each list, 0 for none. */
  readonly listed: number[] = [];
  /** Users whose questions about all of their rights get no answer. */
  readonly silentFor = new Set<string>();
  unanswered = 0;
  /** While it is set, lists get no answer. */
  beforeList: Promise<void> | undefined;
  /** May be changed. */
  readonly rights: string[];
  readonly #isIncomplete: boolean;
  readonly #objects: Readonly<Record<string, readonly KubeObject[]>>;

  constructor(rights: readonly string[], isIncomplete: boolean, objects: Platform['objects']) {
    this.rights = [...rights];
    this.#isIncomplete = isIncomplete;
    this.#objects = objects;
  }

  get objects(): Readonly<Record<string, readonly KubeObject[]>> {
    return this.#objects;
  }

  readonly create = async (resource: Resource, review: { spec: Record<string, unknown> }) =>
    resource?.kind === 'SelfSubjectRulesReview'
      ? { status: this.#rulesIn(String(review.spec['namespace'])) }
      : { status: { allowed: this.#mayDo(review.spec['resourceAttributes'] as Question) } };

  readonly list = async (
    { plural }: Resource,
    { namespace, fieldSelector, limit = Number.POSITIVE_INFINITY, continue: from = '0' }: Listing,
  ) => {
    this.listed.push(Number.isFinite(limit) ? limit : 0);
    await this.beforeList;
    const name = fieldSelector?.replace('metadata.name=', '');
    const all = (this.#objects[plural] ?? []).filter(
      ({ metadata }) => (!namespace || metadata.namespace === namespace) && (!name || metadata.name === name),
    );
    const next = Number(from) + limit;
    const metadata = { resourceVersion: '9', ...(next < all.length ? { continue: String(next) } : {}) };
    return { items: all.slice(Number(from), next), metadata };
  };

  /** Answers what the gateway passes on with `Upstream`, and what it asks by itself. */
  readonly serve = () => {
    const texts = new WeakMap<Socket, string>();
    return async (socket: Socket, piece: string): Promise<void> => {
      const text = (texts.get(socket) ?? '') + piece;
      texts.set(socket, text);
      const [head = '', body] = text.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body === undefined || body.length < length) return;
      texts.delete(socket);
      const answer = await this.#answer(head, body);
      if (answer !== undefined && !socket.destroyed) socket.write(answer);
    };
  };

  async #answer(head: string, body: string): Promise<string | undefined> {
    const user = /impersonate-user: (\S+)/.exec(head)?.[1] ?? '';
    const { pathname, searchParams } = new URL(head.split(' ')[1] ?? '', 'http://platform');
    if (pathname.endsWith('/selfsubjectrulesreviews')) {
      if (this.silentFor.has(user)) {
        this.unanswered += 1;
        return undefined;
      }
      const { spec } = asObject(parseJSON(body));
      const review = { status: this.#rulesIn(String(asObject(spec)['namespace'])) };
      return ok(JSON.stringify(review)).replace('200 OK', '201 Created');
    }
    if (!user.endsWith(':latchkey-reader')) return ok('Upstream');
    const { plural = '', namespace } =
      /(?:namespaces\/(?<namespace>[^/]+)\/)?(?<plural>[^/]+)$/.exec(pathname)?.groups ?? {};
    const limit = searchParams.get('limit');
    const listing = {
      namespace,
      fieldSelector: searchParams.get('fieldSelector') ?? undefined,
      limit: limit === null ? undefined : Number(limit),
      continue: searchParams.get('continue') ?? undefined,
    };
    return ok(JSON.stringify(await this.list({ plural } as Resource, listing as Listing)));
  }

  /** Events of every watch, in the order in which they are sent. */
  readonly #listeners = new Set<(event: WatchEvent) => void>();
  readonly watched: URLSearchParams[] = [];

  readonly overOneConnection = () => ({
    watch: (_: string, query: URLSearchParams, options: { signal: AbortSignal; onOpen?: () => void }) =>
      this.#watch(query, options),
    close: async () => undefined,
  });

  get watchers(): number {
    return this.#listeners.size;
  }

  emit(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: KubeObject): void {
    for (const listener of this.#listeners) listener({ type, object });
  }

  async *#watch(
    query: URLSearchParams,
    { signal, onOpen }: { readonly signal: AbortSignal; readonly onOpen?: () => void },
  ): AsyncGenerator<WatchEvent> {
    const events: WatchEvent[] = [];
    let next = Promise.withResolvers<void>();
    const listener = (event: WatchEvent) => {
      events.push(event);
      next.resolve();
    };
    signal.addEventListener('abort', () => next.resolve());
    this.#listeners.add(listener);
    this.watched.push(query);
    onOpen?.();
    try {
      while (!signal.aborted) {
        for (const event of events.splice(0)) yield event;
        await next.promise;
        next = Promise.withResolvers();
      }
    } finally {
      this.#listeners.delete(listener);
    }
  }

  #mayDo({ verb, resource, namespace = '', name }: Question): boolean {
    this.asked.push(`${verb} ${resource} ${namespace}/${name}`);
    return [`${namespace}/${name}`, `${namespace}/`, '/'].some((place) =>
      this.rights.includes(`${verb} ${resource} ${place}`),
    );
  }

  #rulesIn(namespace: string) {
    this.asked.push(`rules ${namespace}`);
    if (this.#isIncomplete) return { incomplete: true, resourceRules: [] };
    const rules = this.rights.flatMap((right) => {
      const [verb = '', resource = '', place = ''] = right.split(' ');
      const [of = '', name = ''] = place.split('/');
      if (of !== '' && of !== namespace) return [];
      const rule = { verbs: [verb], apiGroups: ['management.platform.sh'], resources: [resource] };
      return [name === '' ? rule : { ...rule, resourceNames: [name] }];
    });
    return { incomplete: false, resourceRules: rules };
  }
}

const withAnnotation = <T extends KubeObject>(object: T, bytes: number): T =>
  bytes === 0
    ? object
    : { ...object, metadata: { ...object.metadata, annotations: { large: 'x'.repeat(bytes) } } };

/** A gateway in front of an API server with targets. */
export async function targetSite({
  rights = [],
  scope,
  instances = defaults,
  isIncomplete = false,
  annotationBytes = 0,
  stage: options = {},
}: TargetSite = {}) {
  const targetRecords = new TargetRecords('p-');
  for (const namespace of new Set(instances.map(([each]) => each)))
    targetRecords.projects.upsert(
      toProjectRecord({
        metadata: { name: namespace, uid: namespace, labels: { [labels.project]: namespace.slice(2) } },
      } as unknown as KubeObject),
    );
  const objects = {
    virtualclusterinstances: instances.map(([namespace, name]) =>
      withAnnotation(targetObject('VirtualClusterInstance', name, namespace), annotationBytes),
    ),
    spaceinstances: [targetObject('SpaceInstance', 'room', 'p-red')],
    clusters: [targetObject('Cluster', 'eu'), targetObject('Cluster', 'us')],
  };
  for (const object of objects.virtualclusterinstances)
    targetRecords.instances.upsert(toInstanceRecord(object));
  for (const object of objects.spaceinstances) targetRecords.spaces.upsert(toSpaceRecord(object));
  for (const object of objects.clusters) targetRecords.clusters.upsert(toClusterRecord(object));
  const platform = new Platform(rights, isIncomplete, objects);
  const client = { as: () => platform } as never;
  const stage = await gatewayStage(platform.serve(), {
    platform: client,
    ...options,
    services: { targetRecords, reader: platform as never, ...options.services },
  });
  running.push(stage);
  stage.know(key, verdictFor(scope));
  const send = async (path: string, accept = 'application/json', credential = key) => {
    const text = await stage.send(
      [
        `GET /kubernetes/management/apis/management.platform.sh/v1${path} HTTP/1.1`,
        ...[
          'Host: a',
          'Connection: close',
          `Authorization: Bearer ${credential}`,
          `Accept: ${accept}`,
          '',
          '',
        ],
      ].join('\r\n'),
    );
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests
    const parsed = asObject(parseJSON(body)) as any;
    return { status: Number(text.split(' ')[1]), text, body: parsed };
  };
  const names = async (path: string): Promise<readonly string[]> =>
    (await send(path)).body.items.map(
      ({ metadata: { namespace, name } }: KubeObject) =>
        `${namespace === undefined ? '' : `${namespace}/`}${name}`,
    );
  return { ...stage, sendRaw: stage.send, send, names, asked: platform.asked, platform, key };
}
