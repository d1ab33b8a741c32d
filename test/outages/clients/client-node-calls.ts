import {
  AppsV1Api,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { until } from '../../../lab/operator/until.ts';

interface Place {
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly name: string;
}

/** Call by call what it answered, without what is another one each time. */
export type Answers = Readonly<Record<string, unknown>>;

/** Fields that vary from one run to the next. */
const passing = [
  ...['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'managedFields', 'token'],
  ...['expirationTimestamp', 'time', '_continue'],
];

const lasting = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null, (key, part) => (passing.includes(key) ? undefined : part)));

/** client-node's error has the whole answer as text. */
function refusalOf(error: unknown): unknown {
  const { code, body, message } = error as { code?: number; body?: unknown; message?: string };
  if (code === undefined) return { failed: message };
  return { refused: code, body: typeof body === 'string' ? lasting(JSON.parse(body)) : lasting(body) };
}

/** The calls of client-node that programs use, one after the other; the last ones clear away. */
export async function clientNodeAnswers({ kubeconfig, namespace, name }: Place): Promise<Answers> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const answers: Record<string, unknown> = {};
  const tell = async (call: string, answer: () => Promise<unknown>): Promise<void> => {
    answers[call] = await answer().then(lasting, refusalOf);
  };
  await useMaps(config, { namespace, name }, tell);
  await useOtherKinds(config, { namespace, name }, tell);
  await tell('watch and inform', async () => await follow(config, { namespace, name }));
  return answers;
}

type Tell = (call: string, answer: () => Promise<unknown>) => Promise<void>;
type At = Pick<Place, 'namespace' | 'name'>;

const labels = { calls: 'yes' };

async function useMaps(config: KubeConfig, at: At, tell: Tell): Promise<void> {
  const api = config.makeApiClient(CoreV1Api);
  const { namespace, name } = at;
  const body = { metadata: { name, labels }, data: { a: '1' } };
  await tell('create', async () => await api.createNamespacedConfigMap({ namespace, body }));
  await tell('create what is there', async () => await api.createNamespacedConfigMap({ namespace, body }));
  await tell('create as dry run', async () => {
    const other = { ...body, metadata: { name: `${name}-2` } };
    return await api.createNamespacedConfigMap({ namespace, body: other, dryRun: 'All' });
  });
  await tell('read', async () => await api.readNamespacedConfigMap(at));
  const patch = async (strategy: PatchStrategy, change: unknown) =>
    await api.patchNamespacedConfigMap(
      { ...at, body: change, fieldManager: 'calls' },
      setHeaderOptions('Content-Type', strategy),
    );
  await tell('merge patch', async () => await patch(PatchStrategy.MergePatch, { data: { b: '1' } }));
  await tell(
    'strategic patch',
    async () => await patch(PatchStrategy.StrategicMergePatch, { data: { c: '1' } }),
  );
  const removal = [{ op: 'remove', path: '/data/none' }];
  await tell('JSON patch of nothing', async () => await patch(PatchStrategy.JsonPatch, removal));
  const applied = { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '2' } };
  await tell('apply in conflict', async () => await patch(PatchStrategy.ServerSideApply, applied));
  await tell('replace', async () => await api.replaceNamespacedConfigMap({ ...at, body }));
  const labelSelector = 'calls=yes';
  await tell('list', async () => await api.listNamespacedConfigMap({ namespace, labelSelector, limit: 1 }));
  const fieldSelector = `metadata.name=${name}`;
  await tell('list by field', async () => await api.listNamespacedConfigMap({ namespace, fieldSelector }));
  await tell(
    'delete all',
    async () => await api.deleteCollectionNamespacedConfigMap({ namespace, labelSelector }),
  );
  await tell('read what is gone', async () => await api.readNamespacedConfigMap(at));
  await tell('version', async () => await config.makeApiClient(VersionApi).getCode());
  await tell('resources', async () => await api.getAPIResources());
  await tell('may I', async () => {
    const spec = { resourceAttributes: { verb: 'create', resource: 'configmaps', namespace } };
    const review = { spec };
    return await config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({ body: review });
  });
  await tell(
    'who am I',
    async () =>
      (await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} })).status?.userInfo
        ?.username,
  );
}

async function useOtherKinds(config: KubeConfig, at: At, tell: Tell): Promise<void> {
  const { namespace, name } = at;
  const objects = KubernetesObjectApi.makeApiClient(config);
  const metadata = { name, namespace, labels };
  const shop = { apiVersion: 'clients.example.com/v1', kind: 'Shop', metadata };
  await tell('create a shop', async () => await objects.create(shop));
  await tell(
    'patch a shop',
    async () => await objects.patch({ ...shop, metadata: { ...metadata, labels: { x: 'y' } } }),
  );
  await tell('read a shop', async () => await objects.read(shop));
  await tell(
    'list shops',
    async () =>
      await objects.list(
        shop.apiVersion,
        shop.kind,
        namespace,
        undefined,
        undefined,
        undefined,
        undefined,
        'calls=yes',
      ),
  );
  await tell('delete a shop', async () => await objects.delete(shop));
  await tell('read no shop', async () => await objects.read(shop));

  const [core, apps] = [config.makeApiClient(CoreV1Api), config.makeApiClient(AppsV1Api)];
  const spec = {
    replicas: 0,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'c', image: 'registry.example.com/nothing' }] },
    },
  };
  const deployment = { metadata: { name, labels }, spec };
  await tell(
    'create a deployment',
    async () => (await apps.createNamespacedDeployment({ namespace, body: deployment })).spec,
  );
  await tell('read its scale', async () => (await apps.readNamespacedDeploymentScale(at)).spec);
  await tell('delete a deployment', async () => (await apps.deleteNamespacedDeployment(at)).status);
  await tell(
    'create a secret',
    async () =>
      await core.createNamespacedSecret({ namespace, body: { metadata: { name }, stringData: { a: '1' } } }),
  );
  await tell('delete a secret', async () => await core.deleteNamespacedSecret(at));
  await tell(
    'create an account',
    async () => await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name } } }),
  );
  await tell(
    'create its token',
    async () =>
      (await core.createNamespacedServiceAccountToken({ ...at, body: { spec: { audiences: [] } } })).kind,
  );
  await tell('delete an account', async () => (await core.deleteNamespacedServiceAccount(at)).kind);
  await tell('logs of no pod', async () => await core.readNamespacedPodLog(at));
}

/** Lists what a watch with bookmarks and an informer tell of an object that comes and goes. */
async function follow(config: KubeConfig, { namespace, name }: At): Promise<unknown> {
  const api = config.makeApiClient(CoreV1Api);
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const told: Record<'watch' | 'informer', string[]> = { watch: [], informer: [] };
  const query = {
    fieldSelector: `metadata.name=${name}`,
    ...{ allowWatchBookmarks: true, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' },
  };
  // Of bookmarks the first one alone is sure to come: it ends what there is.
  const note = (type: string) => {
    if (type !== 'BOOKMARK' || told.watch.length === 0) told.watch.push(type);
  };
  const watch = await new Watch(config).watch(path, query, note, () => undefined);
  const labelSelector = `one=${name}`;
  const list = async () => await api.listNamespacedConfigMap({ namespace, labelSelector });
  const informer = makeInformer(config, path, list, labelSelector);
  for (const event of ['add', 'update', 'delete'] as const)
    informer.on(event, () => void told.informer.push(event));
  await informer.start();
  const length = async (watched: number, informed: number): Promise<void> => {
    const both = async () => told.watch.length >= watched && told.informer.length >= informed;
    await until('both are told', both, { seen: () => told });
  };
  await length(1, 0);
  const metadata = { name, labels: { one: name } };
  await api.createNamespacedConfigMap({ namespace, body: { metadata } });
  await length(2, 1);
  await api.replaceNamespacedConfigMap({ namespace, name, body: { metadata, data: { a: '1' } } });
  await length(3, 2);
  await api.deleteNamespacedConfigMap({ namespace, name });
  await length(4, 3);
  await informer.stop();
  watch.abort();
  return told;
}
