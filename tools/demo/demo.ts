import path from 'node:path';
import { controlPlaneBinaries } from '../../test/controlplane/binaries/binaries.ts';
import { type ControlPlane, startControlPlane } from '../../test/controlplane/control-plane.ts';
import { Guard } from '../../test/controlplane/guard.ts';
import { RunningOperator } from '../../test/operator/running-operator.ts';
import { applySamples, bindAdministrator, install, untilReady } from './cluster.ts';
import type { Interrupt } from './interrupt.ts';
import type { Say } from './progress.ts';
import { collectSummary } from './summary.ts';
import { renderSummary } from './summary-text.ts';

export interface DemoOptions {
  /** End when everything is ready instead of waiting for a signal. */
  readonly once: boolean;
  /** For the result. */
  readonly print: (text: string) => void;
  /** For the progress. */
  readonly say: Say;
  readonly interrupt: Interrupt;
}

interface Running {
  /** Rejects when the operator ends by itself; pending as long as it runs. */
  readonly death: Promise<never>;
}

const logTailLines = 20;

/**
 * Runs the demo from the start to its end; nothing that it started is left when this settles.
 * @throws Interrupted when a signal comes before everything is ready.
 * @throws Error saying what did not work.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { once, say, print, interrupt } = options;
  const started = new AsyncDisposableStack();
  try {
    const { death } = await interrupt.unless(startAndShow(options, started));
    if (once) return;
    print('All of this is running. Ctrl-C ends it and leaves nothing behind.');
    await Promise.race([death, interrupt.received]);
  } finally {
    say('ending what was started');
    await started.disposeAsync();
    say('ended; no process and no file is left');
  }
}

async function startAndShow(options: DemoOptions, started: AsyncDisposableStack): Promise<Running> {
  const { say } = options;
  const plane = await startPlane(say, started);
  say('applying config/default: CRDs, admission policies, roles');
  await install(plane);
  const operator = await startOperator(plane, say, started);
  const death = deathOf(operator);
  await Promise.race([death, use(plane, operator, options)]);
  return { death };
}

async function startPlane(say: Say, started: AsyncDisposableStack): Promise<ControlPlane> {
  say('looking for etcd, kube-apiserver, kube-controller-manager and kubectl');
  const binaries = await controlPlaneBinaries(process.env, say);
  say(`found them in ${path.dirname(binaries.etcd)}; starting a control plane`);
  const starting = startControlPlane({ name: 'demo', binaries });
  // Registered before it is there: a signal in these seconds waits for it, or its processes would outlive us for a moment.
  started.defer(async () => await starting.then(stop, () => undefined));
  const plane = await starting;
  say(`the API server answers at ${plane.server}`);
  return plane;
}

async function stop(part: { stop(): Promise<void> }): Promise<void> {
  await part.stop();
}

async function startOperator(
  plane: ControlPlane,
  say: Say,
  started: AsyncDisposableStack,
): Promise<RunningOperator> {
  say('starting the operator as a process of its own, under its ServiceAccount');
  const guard = await Guard.start('demo-operator');
  started.defer(async () => await guard.stop());
  return await RunningOperator.start(plane, guard);
}

function deathOf(operator: RunningOperator): Promise<never> {
  const death = operator.process.exited.then(async (code) => {
    throw new Error(`the operator ended with exit code ${code}. ${await tailOf(operator)}`);
  });
  // Our own stop ends it too, when nobody listens any more.
  death.catch(() => undefined);
  return death;
}

async function tailOf(operator: RunningOperator): Promise<string> {
  const log = await operator.log().catch(() => '(there is none)');
  return `The end of its log:\n${log.trimEnd().split('\n').slice(-logTailLines).join('\n')}`;
}

async function use(
  plane: ControlPlane,
  operator: RunningOperator,
  { say, print }: DemoOptions,
): Promise<void> {
  const alice = await bindAdministrator(plane, 'alice');
  say('applying config/samples as the user alice, who holds the role latchkey-admin');
  await applySamples(plane, alice, say);
  say('waiting until all keys and tokens are Ready');
  const listing = await untilReady(plane, alice);
  if (listing !== undefined) {
    throw new Error(`not everything got Ready:\n${listing}\nThe operator runs. ${await tailOf(operator)}`);
  }
  say('everything is ready');
  print(renderSummary(await collectSummary(plane, alice), operator.process.logPath));
}
