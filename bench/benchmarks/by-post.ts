import path from 'node:path';
import { Guard } from '../../lab/controlplane/guard.ts';
import type { RunningGateway } from '../../lab/gateway/running-gateway.ts';
import { runBundle } from '../../lab/operator/program.ts';
import { until } from '../../lab/operator/until.ts';
import { apiVersion } from '../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../src/api/resources.ts';
import { collectionPath } from '../../src/kube/resource-path.ts';
import { buildBundle } from '../../tools/bundle/build-bundle.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { startGateway } from '../gateway/endpoints.ts';
import { secretOf } from '../gateway/stored-keys.ts';
import { CPUMeter } from '../measure/cpu-meter.ts';
import { interleave } from '../measure/rounds.ts';
import { tableOf } from '../measure/table.ts';
import { withOperator } from '../world/operator.ts';
import type { Platform } from '../world/platform.ts';
import { ReadyWatch } from '../world/ready-watch.ts';
import { instance, startVirtualCluster } from '../world/virtual-cluster.ts';
import { measures, plainWay, Subject, type Way } from '../world/ways.ts';

const ttl = 3_600;
const management = '/kubernetes/management';
/** Every run makes an object that stays. */
const env = {
  LATCHKEY_MAX_OBJECTS_PER_OWNER: '0',
};

/** How long somebody waits for a credential who asks the gateway for it. */
export const byPost: Benchmark = { name: 'by-post', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const guard = await Guard.start('bench-gateway');
  try {
    return await withOperator(context, async (platform, operator) => {
      context.progress('starting the gateway, and a control plane for the virtual cluster');
      const bundle = path.join(guard.folder, 'latchkey.mjs');
      await buildBundle(bundle);
      runBundle(bundle);
      const { post, gateway } = await startPosting(platform, guard, context.options.profile);
      const cluster = await startVirtualCluster(platform.plane);
      const { apiServer, etcd } = platform.pids;
      const meter = new CPUMeter({
        platform: [apiServer, etcd],
        operator: [operator.pid],
        gateway: [gateway.process.pid],
      });
      try {
        const ways = waysOf(platform, { post, server: cluster.plane.server });
        const section = await measured(
          ways.map((way) => new Subject(way, meter)),
          context,
        );
        // In order, so that a profile is written.
        await gateway.end();
        return section;
      } finally {
        await cluster.stop();
      }
    });
  } finally {
    await guard.stop();
  }
}

async function measured(
  subjects: readonly Subject[],
  { options, progress }: BenchmarkContext,
): Promise<Section> {
  const { rounds, runs, warmUp } = options;
  for (const subject of subjects) await subject.warmUp(warmUp / subjects.length);
  const contenders = subjects.map((subject) => subject.contender(Math.ceil(runs / rounds)));
  const table = tableOf(await interleave(contenders, rounds, progress), measures);
  return {
    title: 'by-post',
    about: `From the start of the request until the client has the credential: by POST to the gateway, with an access key, and by an object that the same user creates at the API server and watches until it is ready. ${runs} of each in ${rounds} rounds one after the other, and as many sixteen at a time. CPU is that of the latter. Platform and virtual cluster are two control planes on the same cores; etcd waits for the disk.`,
    table,
    notes: [
      'To reach: by POST at most 8 ms more at p50, and at least 0.85 of the rate.',
      'The gateway holds each answer back until its own watch has brought the confirmed object, so that the next request with a new credential passes.',
    ],
  };
}

/** `server`: of the virtual cluster, where those who have a certificate go. */
interface World {
  readonly post: Post;
  readonly server: string;
}

function waysOf(platform: Platform, { post, server }: World): readonly Way[] {
  const { namespace, name: virtualClusterInstance } = instance;
  const spec = { certificateTTL: ttl };
  const tokens = collectionPath(directClusterEndpointTokens);
  const instances = `/apis/${apiVersion}/namespaces/${namespace}/virtualclusterinstances`;
  const kubeconfigs = `${instances}/${virtualClusterInstance}/kubeconfig`;
  const token = { ttl };
  const kind = directClusterEndpointTokens.kind;
  const object = { ...spec, virtualClusterInstance };
  const createdKubeConfig = (clientCert: boolean) =>
    created(platform, virtualClusterInstanceKubeConfigs, {
      sent: clientCert ? { ...object, clientCert, server } : object,
      place: { namespace },
    });
  return [
    {
      name: 'token, by POST',
      begin: plainWay((name) => post(tokens, { apiVersion, kind, metadata: { name }, spec: token })),
    },
    {
      name: 'token, created and watched',
      begin: created(platform, directClusterEndpointTokens, { sent: token }),
    },
    { name: 'kubeconfig with a token, by POST', begin: plainWay(() => post(kubeconfigs, { spec })) },
    { name: 'kubeconfig with a token, created and watched', begin: createdKubeConfig(false) },
    {
      name: 'kubeconfig with a certificate, by POST',
      begin: plainWay(() => post(kubeconfigs, { spec: { ...spec, clientCert: true, server } })),
    },
    { name: 'kubeconfig with a certificate, created and watched', begin: createdKubeConfig(true) },
  ];
}

interface Sent {
  readonly sent: object;
  readonly place?: { readonly namespace: string };
}

/** All share one watch, which is open for as long as they need it: no other way pays for it. */
function created({ client }: Platform, resource: Resource, { sent, place }: Sent): Way['begin'] {
  return async () => {
    const watch = await ReadyWatch.open(client, resource);
    return {
      once: async (name) => {
        const seen = watch.expect(name);
        const metadata = { name, ...place };
        await client.create(resource, { apiVersion, kind: resource.kind, metadata, spec: sent }, place);
        await seen;
      },
      end: () => watch.close(),
    };
  };
}

/** Sends an object as the holder of a key. @throws Error when the answer is not one with a credential. */
type Post = (path: string, body: object) => Promise<void>;

async function startPosting(
  { plane, client }: Platform,
  guard: Guard,
  profile: string | undefined,
): Promise<{ readonly post: Post; readonly gateway: RunningGateway }> {
  const key = secretOf(0);
  const { kind } = ownedAccessKeys;
  await client.create(ownedAccessKeys, {
    apiVersion,
    kind,
    metadata: { name: 'bench-poster' },
    spec: { key },
  });
  const { gateway } = await startGateway({ plane, guard }, { env, profile });
  const isKnown = async () => {
    const { statusCode, body } = await gateway.send(`${management}/version`, { key });
    await body.dump();
    return statusCode === 200;
  };
  await until('the gateway knows the key', isKnown);
  const post: Post = async (path, sent) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(sent);
    const answer = await gateway.send(management + path, { method: 'POST', key, headers, body });
    const text = await answer.body.text();
    const { status } = JSON.parse(text) as { status?: { token?: string; kubeConfig?: string } };
    if (answer.statusCode >= 300 || (status?.token ?? status?.kubeConfig) === undefined)
      throw new Error(`a POST was answered with ${answer.statusCode}: ${text.slice(0, 300)}`);
  };
  return { post, gateway };
}
