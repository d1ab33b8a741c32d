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
  /** `token-issue`: each measurement, seconds. */
  readonly seconds: number;
  /** `apply-to-ready`, `kubeconfig`, `policy-cost`: objects of each kind, all rounds together. */
  readonly runs: number;
  /** `reconcile-10k`: objects of each kind. */
  readonly objects: number;
  /** `reconcile-10k`: the Go peer writes an event for each object, as most controllers do. */
  readonly eventForEach: boolean;
  /** `reconcile-10k`: where @dot-i/k8s-operator as shipped is installed; absent: it is not measured. */
  readonly k8sOperator?: string;
  /** Where the operator leaves CPU profiles; such a run is slower than a plain one. */
  readonly profile?: string;
}

export const usage = `usage: npm run bench -- [name…] [options]

  --rounds N             how often each contender is measured, in turn (5)
  --warm-up N            seconds before the first round, for each process (15)
  --seconds N            token-issue: seconds of each measurement (5)
  --runs N               apply-to-ready, kubeconfig, policy-cost: objects of each kind in all (1000)
  --objects N            reconcile-10k: objects of each kind (10000)
  --event-for-each       reconcile-10k: the Go peer writes an event for each object
  --k8s-operator FOLDER  reconcile-10k: also @dot-i/k8s-operator, installed in this folder
  --profile FOLDER       leave CPU profiles of the operator there`;

/** Reads the command line. Throws `TypeError` that names the option and what it takes. */
export function parseOptions(args: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{ rounds: text, 'warm-up': text, seconds: text, runs: text, objects: text, profile: text },
      ...{ 'k8s-operator': text, 'event-for-each': flag },
    },
  });
  return {
    names: positionals,
    rounds: count('rounds', values.rounds, 5, 1),
    warmUp: count('warm-up', values['warm-up'], 15, 0),
    seconds: count('seconds', values.seconds, 5, 1),
    runs: count('runs', values.runs, 1000, 1),
    objects: count('objects', values.objects, 10_000, 1),
    eventForEach: values['event-for-each'],
    ...defined({ k8sOperator: values['k8s-operator'], profile: values.profile }),
  };
}

function count(name: string, value: string | undefined, byDefault: number, least: number): number {
  if (value === undefined) return byDefault;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least)
    throw new TypeError(`--${name} takes a whole number from ${least} on, not "${value}"`);
  return number;
}
