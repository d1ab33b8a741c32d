import { Guard } from '../../lab/controlplane/guard.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { interleave } from '../measure/rounds.ts';
import { figure, tableOf } from '../measure/table.ts';
import { controllerRuntime, k8sOperator } from '../world/peers.ts';
import { latchkey, type Program } from '../world/program.ts';
import { reconcileAll } from './reconcile-trial.ts';

const measures = [
  { key: 'first', title: 'start to first ready, s' },
  { key: 'seconds', title: 'start to all ready, s' },
  { key: 'rate', title: 'objects a second' },
  { key: 'cpu', title: 'CPU of the process, s' },
  { key: 'cpuEach', title: 'CPU of the process, µs an object' },
  { key: 'apiServerCpu', title: 'CPU of the API server, s' },
  { key: 'etcdCpu', title: 'CPU of etcd, s' },
  { key: 'peak', title: 'peak memory, MiB' },
  { key: 'writes', title: 'changes an object' },
  { key: 'events', title: 'Events' },
];

/** How fast a whole installation is reconciled, as after an upgrade or a restore. */
export const reconcile: Benchmark = { name: 'reconcile-10k', run };

/** Enough to bring programs and files into memory. */
const warmUpObjects = 200;

async function run({ options, progress }: BenchmarkContext): Promise<Section> {
  const guard = await Guard.start('bench');
  try {
    progress('building the contenders');
    const programs = [
      await latchkey(guard.folder, options.profile),
      await controllerRuntime(guard.folder, options.eventForEach),
      ...(options.k8sOperator === undefined ? [] : [k8sOperator(options.k8sOperator)]),
    ];
    if (options.warmUp > 0) {
      for (const program of programs)
        await reconcileAll(program, Math.min(warmUpObjects, options.objects), progress);
    }
    const contenders = programs.map((program: Program) => ({
      name: program.name,
      measure: () => reconcileAll(program, options.objects, progress),
    }));
    return section(tableOf(await interleave(contenders, options.rounds, progress), measures), options);
  } finally {
    await guard.stop();
  }
}

function section(table: string, { objects, rounds, eventForEach }: BenchmarkContext['options']): Section {
  const each = figure(objects);
  return {
    title: 'reconcile-10k',
    about: `${each} access keys (given by hash, so that one write each is all there is to do) and ${each} tokens (a signature and one write each) are there before the process starts; measured from its start until a watch has seen the last of them with \`Ready=True\`. ${rounds} rounds, each on a control plane of its own; etcd waits for the disk.`,
    table,
    notes: [
      'To reach: not slower than controller-runtime.',
      `The Go peer has no limit on its requests, 16 reconciles of each kind at the same time like Latchkey, skips the events of its own writes, and leaves out what Latchkey does beyond this duty. ${eventForEach ? 'It writes an Event for each object.' : 'It writes Events within the same budget as Latchkey.'}`,
      'API server and etcd share the cores with the process, so a lighter process gives them more room: that is part of the result. A sample of the objects is checked after each round with the function that every verifier uses.',
    ],
  };
}
