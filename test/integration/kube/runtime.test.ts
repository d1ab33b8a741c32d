import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { configMaps, events, leases } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import type { Impersonation } from '../../../src/kube/client/impersonation.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { systemClock } from '../../../src/kube/clock.ts';
import { type EventInput, EventRecorder } from '../../../src/kube/events/event-recorder.ts';
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from '../../../src/kube/kube-error.ts';
import { LeaderElector } from '../../../src/kube/leader/leader-election.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import { type Logger, silentLogger } from '../../../src/logger.ts';
import { waitFor } from '../../fakes/wait-for.ts';

let plane: Awaited<ReturnType<typeof sharedControlPlane>>;
let client: KubeClient;
const suffix = randomBytes(4).toString('hex');
const namespace = 'default';
const nameOf = (name: string) => `kube-${name}-${suffix}`;
const configMap = (name: string, value: string) => ({ metadata: { name: nameOf(name) }, data: { value } });

beforeAll(async () => {
  plane = await sharedControlPlane();
  client = createKubeClient({
    kubeConfig: kubeConfigSource({ file: plane.adminKubeconfig }),
    userAgent: 'test',
  });
});

afterAll(() => client?.close());

const thrown = (work: Promise<unknown>) => work.then(String, (error: unknown) => error);

describe('a client for somebody else', () => {
  const whoAmI = async (who: Impersonation) => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { status } = await client
      .as(who)
      .request<{ status: { userInfo: unknown } }>('POST', path, { body });
    return status.userInfo;
  };

  it('is that one to the API server: user, groups and extras', async () => {
    const extra = {
      'management.platform.sh/access-key': ['ci/uid-1', '100 % (sure), "quoted"'],
      'a%2fb(c)': ['d'],
    };
    expect(await whoAmI({ user: 'team:a b', groups: ['team:a b', 'dev'], extra })).toEqual({
      username: 'team:a b',
      groups: ['team:a b', 'dev', 'system:authenticated'],
      extra,
    });
  });

  it('is a ServiceAccount with its groups', async () => {
    const serviceAccount = { namespace: 'latchkey-system', name: 'latchkey-reader' };
    expect(await whoAmI({ serviceAccount })).toMatchObject({
      username: 'system:serviceaccount:latchkey-system:latchkey-reader',
      groups: expect.arrayContaining(['system:serviceaccounts', 'system:serviceaccounts:latchkey-system']),
    });
  });
});

describe('writes', () => {
  it('creates, applies, patches and deletes with preconditions', async () => {
    const key = { namespace, name: nameOf('write') };
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...configMap('write', '1') };
    const made = await client.apply(configMaps, key, applied, { fieldManager: 'one' });
    expect(isAlreadyExists(await thrown(client.create(configMaps, applied, { namespace })))).toBe(true);

    const other = { ...applied, data: { value: '2' } };
    expect(isConflict(await thrown(client.apply(configMaps, key, other, { fieldManager: 'two' })))).toBe(
      true,
    );
    await client.apply(configMaps, key, other, { fieldManager: 'two', force: true });

    const { uid, resourceVersion } = made.metadata;
    const stale = client.mergePatch(configMaps, key, { metadata: { resourceVersion }, data: { value: '3' } });
    expect(isConflict(await thrown(stale))).toBe(true);
    const stranger = client.mergePatch(configMaps, key, { metadata: { uid: 'other' }, data: { value: '3' } });
    expect(isConflict(await thrown(stranger))).toBe(true);
    const patched = await client.mergePatch(configMaps, key, { metadata: { uid }, data: { value: '4' } });
    expect(patched).toMatchObject({ data: { value: '4' } });

    expect(
      isConflict(await thrown(client.delete(configMaps, key, { preconditions: { uid: 'other' } }))),
    ).toBe(true);
    await client.delete(configMaps, key, { preconditions: { uid } });
    expect(isNotFound(await thrown(client.get(configMaps, key)))).toBe(true);
  });

  it('names the field of what is invalid and keeps its value out of the message', async () => {
    const error = await thrown(
      client.create(configMaps, { metadata: { name: 'Not_A_Name' } }, { namespace }),
    );
    expect(isInvalid(error)).toBe(true);
    expect(error).toMatchObject({ details: { causes: [{ field: 'metadata.name' }] } });
    expect((error as Error).message).not.toContain('Not_A_Name');
  });

  it('stores nothing in a dry run', async () => {
    await client.create(configMaps, configMap('dry', '1'), { namespace, dryRun: true });
    expect(isNotFound(await thrown(client.get(configMaps, { namespace, name: nameOf('dry') })))).toBe(true);
  });
});

describe('reflector', () => {
  interface Slim extends StoredRecord {
    readonly value: string;
  }

  const toRecord = (object: KubeObject): Slim | undefined => {
    const { name, uid, resourceVersion } = object.metadata;
    if (!name.endsWith(suffix)) return undefined;
    return {
      key: keyOf(object.metadata),
      uid,
      resourceVersion,
      value: (object as { data?: { value: string } }).data?.value ?? '',
    };
  };

  async function reflect(
    pages: boolean,
    work: (store: Store<Slim>, log: string[]) => Promise<void>,
  ): Promise<void> {
    const store = new Store<Slim>();
    const lines: string[] = [];
    const note = (_keys: object, text: string) => void lines.push(text);
    const log: Logger = { debug: note, info: note, warn: note, error: note };
    const abort = new AbortController();
    const refused = {
      ...{ list: client.list.bind(client), overOneConnection: client.overOneConnection.bind(client) },
      watch: pages ? refuseStreaming() : client.watch.bind(client),
    };
    const options = {
      client: refused,
      resource: configMaps,
      namespace,
      toRecord,
      store,
      log,
      backOffMs: [10, 10] as const,
    };
    const reflector = new Reflector<Slim>({
      ...options,
      clock: systemClock,
      random: Math.random,
      pageSize: 2,
    });
    const running = reflector.run(abort.signal);
    await reflector.synced(abort.signal);
    await work(store, lines);
    abort.abort();
    await running;
  }

  /** A client whose API server knows no streaming lists: the real one says so when the parameters contradict. */
  function refuseStreaming(): KubeClient['watch'] {
    return (path, query, options) => {
      if (query.has('sendInitialEvents')) query.delete('resourceVersionMatch');
      return client.watch(path, query, options);
    };
  }

  it.each([
    ['a streaming list', false],
    ['pages, after the server refused a streaming list', true],
  ])('starts from %s and follows changes, deletions and re-creations', async (_how, pages) => {
    const names = ['a', 'b', 'c'].map((name) => `${name}${pages ? 'p' : 's'}`);
    const [a, b] = names as [string, string, string];
    for (const name of names) await client.create(configMaps, configMap(name, '1'), { namespace });
    await reflect(pages, async (store, log) => {
      const keyFor = (name: string) => `${namespace}/${nameOf(name)}`;
      expect(names.map((name) => store.get(keyFor(name))?.value)).toEqual(['1', '1', '1']);
      const changes: string[] = [];
      store.subscribe(({ type, key }) => changes.push(`${type} ${key}`));
      await client.mergePatch(configMaps, { namespace, name: nameOf(a) }, { data: { value: '2' } });
      await client.delete(configMaps, { namespace, name: nameOf(b) });
      await client.create(configMaps, configMap(b, '3'), { namespace });
      await waitFor('all changes', () => changes.length === 3);
      expect(changes).toEqual([`updated ${keyFor(a)}`, `deleted ${keyFor(b)}`, `added ${keyFor(b)}`]);
      expect(log.length).toBe(pages ? 1 : 0);
    });
    for (const name of names) await client.delete(configMaps, { namespace, name: nameOf(name) });
  });
});

describe('leader election', () => {
  it('elects one, and the other within a retry period after an orderly stop', async () => {
    const name = nameOf('lease');
    const start = (identity: string) => {
      const abort = new AbortController();
      const options = {
        client,
        namespace,
        name,
        identity,
        clock: systemClock,
        random: Math.random,
        log: silentLogger,
      };
      const elector = new LeaderElector({ ...options, retryPeriodMs: 500 });
      const ended = elector.run(
        abort.signal,
        (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      );
      return { elector, abort, ended };
    };
    const a = start('a');
    await waitFor('the first leader', () => a.elector.mayWrite());
    const b = start('b');
    const lease = await client.get<Lease>(leases, { namespace, name });
    expect(lease.spec).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(b.elector.mayWrite()).toBe(false);
    const stopped = Date.now();
    a.abort.abort();
    await a.ended;
    await waitFor('the second leader', () => b.elector.mayWrite());
    const { acquireTime = '' } = (await client.get<Lease>(leases, { namespace, name })).spec ?? {};
    // One that was not given up has to run out first, which takes 15 s.
    expect(Date.parse(acquireTime) - stopped).toBeLessThan(10_000);
    b.abort.abort();
    await b.ended;
    expect((await client.get<Lease>(leases, { namespace, name })).spec).toMatchObject({
      holderIdentity: '',
      leaseTransitions: 1,
    });
  });
});

describe('events', () => {
  const input = (name: string, objectNamespace?: string): EventInput => ({
    regarding: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name,
      uid: `uid-${name}`,
      ...(objectNamespace ? { namespace: objectNamespace } : {}),
    },
    type: 'Warning',
    reason: 'Expired',
    action: 'Disable',
    note: `${'long '.repeat(500)}ü`,
  });

  it('are accepted by the API server and shown by kubectl, as series and as summary', async () => {
    const recorder = new EventRecorder({
      ...{ client, clock: systemClock, log: silentLogger, stormBudget: { burst: 2, rate: 0.001 } },
      ...{ reportingController: 'latchkey-operator', reportingInstance: `${'pod'.repeat(60)}` },
    });
    const name = nameOf('event');
    recorder.record(input(name));
    recorder.record(input(name, 'kube-system'));
    await recorder.drain();
    recorder.record(input(name));
    recorder.record(input(nameOf('left-out')));
    await recorder.drain();
    const listed = await client.list<KubeObject & { series?: { count: number } }>(events);
    const ours = listed.items.filter(({ metadata }) => metadata.name.startsWith(name));
    expect(ours.map(({ metadata, series }) => [metadata.namespace, series?.count]).toSorted()).toEqual([
      ['default', 2],
      ['kube-system', undefined],
    ]);
    const { stdout } = await plane.kubectl([
      'get',
      'events',
      '-n',
      'default',
      '--field-selector',
      `involvedObject.name=${name}`,
    ]);
    expect(stdout).toContain('Expired');
    const summary = await plane.kubectl([
      'get',
      'events',
      '-n',
      'default',
      '-o',
      'jsonpath={.items[?(@.reason=="ManyEvents")].message}',
    ]);
    expect(summary.stdout).toContain(`the newest was about ConfigMap ${nameOf('left-out')}`);
  });
});
