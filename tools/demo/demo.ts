import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { controlPlaneBinaries } from '../../lab/controlplane/binaries/binaries.ts';
import { configFolder } from '../../lab/operator/kustomization.ts';
import { RunningOperator } from '../../lab/operator/running-operator.ts';
import { healthOf } from '../../lab/operator/telemetry.ts';
import { until } from '../../lab/operator/until.ts';
import { applyAs, bindAdministrator, install, untilReady } from './cluster.ts';
import { chooseBaseURL, type DemoGateway, startGateway } from './gateway.ts';
import type { Interrupt } from './interrupt.ts';
import type { Say } from './progress.ts';
import { Started } from './started.ts';
import { collectSummary } from './summary.ts';
import { type Logs, renderSummary } from './summary-text.ts';
import { noIssuer, trustGateway } from './trusting-cluster.ts';
import { type Planes, prepareProject, virtualClusterSamples } from './virtual-cluster.ts';

export interface DemoOptions {
  /** End when everything is ready instead of waiting for a signal. */
  readonly once: boolean;
  /** For the result. */
  readonly print: (text: string) => void;
  /** For the progress. */
  readonly say: Say;
  readonly interrupt: Interrupt;
}

interface Stage extends Pick<DemoOptions, 'once' | 'print'> {
  /** Says what begins now. @throws Interrupted after a signal. */
  readonly step: Say;
}

interface Running {
  /** Rejects when the operator or the gateway ends by itself; pending as long as they run. */
  readonly death: Promise<never>;
}

/** The processes of Latchkey. */
interface Latchkey {
  readonly operator: RunningOperator;
  readonly gateway: DemoGateway;
}

const logTailLines = 20;
/** Both control planes are on loopback, which is dialled only when a setting allows it. */
const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };

/**
 * Runs the demo from the start to its end; nothing that it started is left when this settles.
 * @throws Interrupted when a signal comes before everything is ready.
 * @throws Error saying what did not work.
 */
export async function runDemo({ once, say, print, interrupt }: DemoOptions): Promise<void> {
  const started = new Started();
  // After a signal nothing new may begin behind the back of the clean-up.
  const step: Say = (text) => {
    interrupt.check();
    say(text);
  };
  try {
    const { death } = await interrupt.unless(startAndShow(started, { once, step, print }));
    if (once) return;
    print('All of this is running. Ctrl-C ends it and leaves nothing behind.');
    await Promise.race([death, interrupt.received]);
  } finally {
    say('ending what was started');
    await started.end();
    say('ended; no process and no file is left');
  }
}

async function startAndShow(started: Started, stage: Stage): Promise<Running> {
  const { step } = stage;
  step('looking for etcd, kube-apiserver, kube-controller-manager and kubectl');
  const binaries = await controlPlaneBinaries(process.env, step);
  step(`found them in ${path.dirname(binaries.etcd)}; starting two control planes`);
  const [platform, virtual] = await Promise.all([
    started.controlPlane('demo', binaries),
    started.controlPlane('demo-virtual', binaries, { authentication: noIssuer }),
  ]);
  step(
    `the platform's API server answers at ${platform.server}, that of a virtual cluster at ${virtual.server}`,
  );
  step('applying config/default: CRDs, admission policies, roles');
  await install(platform);
  const latchkey = await startLatchkey(started, platform, step);
  const death = Promise.race([
    deathOf('operator', latchkey.operator),
    deathOf('gateway', latchkey.gateway.running),
  ]);
  // Our own stop ends them too, when nothing listens any more.
  death.catch(() => undefined);
  await Promise.race([death, use({ platform, virtual }, latchkey, stage)]);
  return { death };
}

async function startLatchkey(started: Started, platform: ControlPlaneAccess, step: Say): Promise<Latchkey> {
  const baseURL = await chooseBaseURL();
  step('starting the operator as a process of its own, under its ServiceAccount');
  const operator = await RunningOperator.start(platform, await started.guard('demo-operator'), {
    env: { ...env, LATCHKEY_BASE_URL: baseURL },
  });
  step(`starting the gateway at ${baseURL}, with the certificate that the operator makes`);
  const starting = startGateway(platform, await started.guard('demo-gateway'), baseURL, env);
  const gateway = await Promise.race([deathOf('operator', operator), starting]);
  step('waiting until the operator is ready: what is made right after the policies does not count');
  const isReady = async () => (await healthOf(operator, '/readyz')).status === 200;
  await Promise.race([
    deathOf('operator', operator),
    until('the operator is ready', isReady, { timeoutMs: 30_000 }),
  ]);
  return { operator, gateway };
}

type Part = Pick<RunningOperator, 'process' | 'log'>;

async function deathOf(name: string, part: Part): Promise<never> {
  const code = await part.process.exited;
  throw new Error(`the ${name} ended with exit code ${code}. ${await tailOf(part)}`);
}

async function tailOf(part: Part): Promise<string> {
  const log = await part.log().catch(() => '(there is none)');
  return `The end of its log:\n${log.trimEnd().split('\n').slice(-logTailLines).join('\n')}`;
}

async function use(planes: Planes, latchkey: Latchkey, stage: Stage): Promise<void> {
  const { platform } = planes;
  const { operator, gateway } = latchkey;
  const { once, step, print } = stage;
  step('pointing the second API server at the gateway, so that it takes tokens for the cluster staging');
  await trustGateway(planes.virtual, gateway);
  step('binding the user alice to the shipped role latchkey-admin');
  const alice = await bindAdministrator(platform, 'alice');
  step("applying config/samples/project: a project, alice's rights in it and over other identities");
  await prepareProject(planes);
  step('applying config/samples as alice');
  await applyAs(platform, alice, path.join(configFolder, 'samples'), step);
  step('applying config/samples/cluster as administrator: no one else may use its Secret');
  await applyAs(platform, platform.adminKubeconfig, path.join(configFolder, 'samples/cluster'), step);
  step('applying config/samples/virtual-cluster as alice');
  await applyAs(platform, alice, await virtualClusterSamples(planes), step);
  step('waiting until all of them are Ready');
  const listing = await untilReady(platform, alice);
  if (listing !== undefined) {
    throw new Error(`not everything got Ready:\n${listing}\nThe operator runs. ${await tailOf(operator)}`);
  }
  step('everything is ready; going through the gateway with curl and kubectl');
  const summary = await collectSummary(planes, alice, gateway);
  print(once ? renderSummary(summary) : renderSummary(summary, logsOf(latchkey)));
}

const logsOf = ({ operator, gateway }: Latchkey): Logs => ({
  operator: operator.process.logPath,
  gateway: gateway.running.process.logPath,
});
