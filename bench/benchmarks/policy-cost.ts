import { createHash } from 'node:crypto';
import {
  clusters,
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../src/api/resources.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { usageOf } from '../measure/process-usage.ts';
import { interleave, type Sample, type Samples } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';
import { nameOf } from '../world/objects.ts';
import { plainObjects } from '../world/plain-kind.ts';
import { benchUser } from '../world/platform.ts';
import { type Subset, type SubsetPlatform, startSubset, subsets } from '../world/policy-subset.ts';

const scope = { clusters: [{ cluster: 'east' }, { cluster: 'west' }] };
const hashOf = (name: string): string => `sha256:${createHash('sha256').update(name).digest('hex')}`;

/** Manifests as the guide has them. The user is named, because without the policies no one else sets it. */
const specs: ReadonlyMap<Resource, (name: string) => object> = new Map<Resource, (name: string) => object>([
  [ownedAccessKeys, (name) => ({ user: benchUser, ttl: 86_400, scope, key: hashOf(name) })],
  [directClusterEndpointTokens, () => ({ ttl: 3_600, scope })],
  [virtualClusterInstanceKubeConfigs, () => ({ virtualClusterInstance: 'shop' })],
  [virtualClusterInstances, () => ({ kubeConfigSecretRef: { name: 'shop' } })],
  [spaceInstances, () => ({ clusterRef: { cluster: 'east', namespace: 'shop' } })],
  [clusters, () => ({ kubeConfigSecretRef: { namespace: 'default', name: 'east' } })],
  [plainObjects, () => ({ displayName: 'Benchmark' })],
]);

const subsetNames = Object.keys(subsets) as readonly Subset[];
const measures = [
  ...subsetNames.map((subset) => ({ key: subset, title: `create, ${subset}, ms` })),
  ...subsetNames.map((subset) => ({ key: `status, ${subset}`, title: `status write, ${subset}, ms` })),
];

/** The cost of the admission policies to the API server. */
export const policyCost: Benchmark = { name: 'policy-cost', run };

async function run({ options, progress }: BenchmarkContext): Promise<Section> {
  progress('starting three control planes');
  const started = await Promise.allSettled(subsetNames.map(startSubset));
  const platforms = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    const subjects = [...specs.keys()].map((resource) => new Subject(resource, platforms));
    for (const subject of subjects) await subject.warmUp(options.warmUp / subjects.length);
    const writes = Math.ceil(options.runs / options.rounds);
    const contenders = subjects.map((subject) => ({
      name: subject.name,
      measure: () => subject.measure(writes),
    }));
    return section(await interleave(contenders, options.rounds, progress), writes, options.rounds);
  } finally {
    await Promise.all(platforms.map((platform) => platform.stop()));
  }
}

function section(samples: Samples, writes: number, rounds: number): Section {
  const plain = mean([...samples.values()].flat(), plainBetween);
  return {
    title: 'policy-cost',
    about: `CPU time of the API server for one create by a user, and for one status write by the operator (of the plain kind: an update), one after the other, ${writes} of each in each of ${rounds} rounds, and with all policies ${moreCreates} times as many creates. Each subset of the policies has a control plane of its own, without an operator.`,
    table: tableOf(samples, measures),
    notes: [
      'To reach: with all policies at most twice the plain kind, which has neither policies nor rules in its schema.',
      `A create with all policies, in creates of the plain kind: ${[...samples].map(([name, rounds]) => `${name} ${figure(mean(rounds, allPolicies) / plain)}`).join(', ')}.`,
      'CPU time hardly depends on what else runs on the machine; the times of two runs can be compared only by the ratio.',
    ],
  };
}

/**
 * Of all creates together. The garbage of some hundred is collected at once, costs as much as they do, and may fall among the plain ones
 * beside them; and the machine has better minutes and worse ones, up to twice as long. So each kind is compared with the plain ones of the
 * whole run, which were made between those of every kind.
 */
const mean = (rounds: readonly Sample[], key: string): number =>
  rounds.reduce((total, sample) => total + (sample[key] ?? 0), 0) / rounds.length;

const allPolicies: Subset = 'all policies';
const plainBetween = 'the plain kind, between';
/** Creates of the one kind, before as many of the other. */
const turnLength = 40;
/** With all policies so many times as many are created: of a thousand, the collections of garbage still make a fifth of the ratio. */
const moreCreates = 4;

/** One kind, created and written on each of the control planes. */
class Subject {
  readonly #resource: Resource;
  readonly #platforms: readonly SubsetPlatform[];
  #created = 0;

  constructor(resource: Resource, platforms: readonly SubsetPlatform[]) {
    this.#resource = resource;
    this.#platforms = platforms;
  }

  get name(): string {
    return this.#resource.kind;
  }

  async warmUp(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1_000;
    while (performance.now() < end) await this.measure(10);
  }

  async measure(writes: number): Promise<Sample> {
    const sample: Record<string, number> = {};
    for (const [index, platform] of this.#platforms.entries()) {
      const subset = subsetNames[index] ?? '';
      const length = subset === allPolicies ? writes * moreCreates : writes;
      const names = Array.from({ length }, () => nameOf('bench', this.#created++));
      const creates = await this.#measureCreates(platform, names);
      sample[subset] = creates.own;
      if (subset === allPolicies) sample[plainBetween] = creates.plain;
      const written = names.slice(0, writes);
      sample[`status, ${subset}`] = await cost(platform, written, (name) => this.#write(platform, name));
    }
    return sample;
  }

  /** By turns with the plain kind. */
  async #measureCreates(
    platform: SubsetPlatform,
    names: readonly string[],
  ): Promise<{ own: number; plain: number }> {
    const sums = { own: 0, plain: 0 };
    for (let start = 0; start < names.length; start += turnLength) {
      const some = names.slice(start, start + turnLength);
      const share = some.length / names.length;
      sums.own += share * (await cost(platform, some, (name) => create(platform, this.#resource, name)));
      const others = some.map((name) => `${name}-${this.name.toLowerCase()}`);
      sums.plain += share * (await cost(platform, others, (name) => create(platform, plainObjects, name)));
    }
    return sums;
  }

  async #write({ operator }: SubsetPlatform, name: string): Promise<void> {
    const plain = this.#resource === plainObjects;
    const patch = plain ? { spec: { displayName: name } } : { status: { observedGeneration: 1 } };
    const options = plain ? {} : { subresource: 'status' };
    await operator.mergePatch(this.#resource, placeOf(this.#resource, name), patch, options);
  }
}

async function create({ client }: SubsetPlatform, resource: Resource, name: string): Promise<void> {
  const { group, version, kind } = resource;
  const metadata = placeOf(resource, name);
  const manifest = { apiVersion: `${group}/${version}`, kind, metadata, spec: specs.get(resource)?.(name) };
  const { namespace } = metadata;
  await client.create(resource, manifest, namespace === undefined ? {} : { namespace });
}

const placeOf = (
  { namespaced }: Resource,
  name: string,
): { readonly name: string; readonly namespace?: string } =>
  namespaced ? { name, namespace: 'default' } : { name };

/** Milliseconds of the API server's CPU for each of the names. */
async function cost(
  { pids }: SubsetPlatform,
  names: readonly string[],
  work: (name: string) => Promise<void>,
): Promise<number> {
  const before = await usageOf(pids.apiServer);
  for (const name of names) await work(name);
  const { cpuSeconds } = await usageOf(pids.apiServer);
  return ((cpuSeconds - before.cpuSeconds) * 1_000) / names.length;
}
