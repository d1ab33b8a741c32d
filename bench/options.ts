import { parseArgs } from 'node:util';
import { defined } from '../src/api/json.ts';

/** How much is measured. The defaults are those of published results. */
export interface Options {
  /** Benchmarks to run; empty: all, and the results are written to a file. */
  readonly names: readonly string[];
  /** How often each contender is measured, in turn. */
  readonly rounds: number;
  /** Before the first round, for each process, seconds. */
  readonly warmUp: number;
  /** `token-issue` and those of the gateway: each measurement, seconds. */
  readonly seconds: number;
  /** `apply-to-ready`, `by-post`, `cli-start`, `direct-endpoint`, `exchange`, `expiry-storm`, `fairness`, `kubeconfig`, `policy-cost`, `revoke`: objects of each kind, all rounds together; `withdrawal`: in each. */
  readonly runs: number;
  /** `reconcile-10k`: objects of each kind. */
  readonly objects: number;
  /** `reconcile-10k`: the Go peer writes an event for each object, as most controllers do. */
  readonly eventForEach: boolean;
  /** `reconcile-10k`: where @dot-i/k8s-operator as shipped is installed; absent: it is not measured. */
  readonly k8sOperator?: string;
  /** Benchmarks of the gateway: access keys that exist; `direct-endpoint`: tokens. */
  readonly keys: number;
  /** `proxy-watch`, `own-lists`: watches that are open. */
  readonly watches: number;
  /** `activity`: requests a second. */
  readonly rate: number;
  /** `bad-key-flood`: wrong keys a second. */
  readonly flood: number;
  /** `expiry-storm`: keys that end in the same second. */
  readonly storm: number;
  /** `memory-100k`: how long keys are changed, seconds. */
  readonly churn: number;
  /** `revoke`: how long the API server believes an answer of its webhook for tokens, seconds. */
  readonly webhookCache: number;
  /** Where operator and gateway leave CPU profiles; such a run is slower than a plain one. */
  readonly profile?: string;
}

export const usage = `usage: npm run bench -- [name…] [options]

  --rounds N             how often each contender is measured, in turn (5)
  --warm-up N            seconds before the first round, for each process (15)
  --seconds N            token-issue and those of the gateway: seconds of each measurement (5)
  --runs N               apply-to-ready, by-post, cli-start, direct-endpoint, exchange, expiry-storm, fairness, kubeconfig, policy-cost, revoke: objects of each kind in all; withdrawal: in each round (1000)
  --objects N            reconcile-10k: objects of each kind (10000)
  --event-for-each       reconcile-10k: the Go peer writes an event for each object
  --k8s-operator FOLDER  reconcile-10k: also @dot-i/k8s-operator, installed in this folder
  --keys N               those of the gateway: access keys that exist; direct-endpoint: tokens (100000)
  --watches N            proxy-watch, own-lists: watches that are open (1000)
  --rate N               activity: requests a second (5000)
  --flood N              bad-key-flood: wrong keys a second (20000)
  --storm N              expiry-storm: keys that end in the same second (5000)
  --churn N              memory-100k: seconds for which keys are changed (600)
  --webhook-cache N      revoke: seconds for which the API server believes its webhook for tokens (120)
  --profile FOLDER       leave CPU profiles of operator and gateway there`;

/** Every option that is a whole number: what it is without being given, and the least that it can be. */
const numbers = {
  rounds: [5, 1],
  'warm-up': [15, 0],
  seconds: [5, 1],
  runs: [1000, 1],
  objects: [10_000, 1],
  keys: [100_000, 0],
  watches: [1000, 1],
  rate: [5000, 1],
  flood: [20_000, 1],
  storm: [5000, 1],
  churn: [600, 1],
  'webhook-cache': [120, 1],
} as const satisfies Record<string, readonly [number, number]>;

/** Reads the command line. Throws `TypeError` that names the option and what it takes. */
export function parseOptions(args: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...mapValues(numbers, () => text),
      ...{ profile: text, 'k8s-operator': text, 'event-for-each': flag },
    },
  });
  const {
    'warm-up': warmUp,
    'webhook-cache': webhookCache,
    ...counts
  } = mapValues(numbers, ([byDefault, least], name) => count(name, values[name], byDefault, least));
  return {
    names: positionals,
    ...counts,
    warmUp,
    webhookCache,
    eventForEach: values['event-for-each'],
    ...defined({ k8sOperator: values['k8s-operator'], profile: values.profile }),
  };
}

type Numbers = typeof numbers;

function mapValues<To>(
  from: Numbers,
  make: (value: readonly [number, number], name: keyof Numbers) => To,
): Record<keyof Numbers, To> {
  const names = Object.keys(from) as (keyof Numbers)[];
  return Object.fromEntries(names.map((name) => [name, make(from[name], name)])) as Record<keyof Numbers, To>;
}

function count(name: string, value: string | undefined, byDefault: number, least: number): number {
  if (value === undefined) return byDefault;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least)
    throw new TypeError(`--${name} takes a whole number from ${least} on, not "${value}"`);
  return number;
}
