import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { controlPlaneBinaries } from '../../lab/controlplane/binaries/binaries.ts';
import { configFolder } from '../../lab/operator/kustomization.ts';
import { RunningOperator } from '../../lab/operator/running-operator.ts';
import { healthOf, listeningPort } from '../../lab/operator/telemetry.ts';
import { until } from '../../lab/operator/until.ts';
import { applyAs, bindAdministrator, install, untilReady } from './cluster.ts';
import { type Logs, writeEnvironment } from './environment.ts';
import { chooseBaseURL, choosePageURL, type DemoGateway, startGateway } from './gateway.ts';
import type { Interrupt } from './interrupt.ts';
import {
  type Issuers,
  inviteNewcomers,
  playNewcomers,
  type Site,
  startIssuers,
  trustedIssuers,
} from './newcomers.ts';
import { PlayedNode } from './node.ts';
import type { Say } from './progress.ts';
import { type Addresses, renderNewcomers, renderStory, renderTrials } from './screen.ts';
import { Started } from './started.ts';
import { beginStory, type Cast, finishStory, ordinaryUser } from './story.ts';
import { collectSummary } from './summary.ts';
import { renderMoreTrials, renderSummary } from './summary-text.ts';
import { noIssuer, trustGateway } from './trusting-cluster.ts';
import { type Planes, prepareProject, virtualClusterSamples } from './virtual-cluster.ts';

export interface DemoOptions {
  /** End when everything is ready instead of waiting for a signal. */
  readonly once: boolean;
  /** Show every step, and what became of every sample. */
  readonly verbose: boolean;
  /** For the result. */
  readonly print: (text: string) => void;
  /** For the progress. */
  readonly say: Say;
  readonly interrupt: Interrupt;
}

interface Stage extends Pick<DemoOptions, 'once' | 'verbose' | 'print'> {
  readonly ending: AbortSignal;
  /** Says what begins now. @throws Interrupted after a signal. */
  readonly step: Say;
  /** The same for those who asked for details. */
  readonly detail: Say;
}

interface Running {
  /** Rejects when the operator or the gateway ends by itself; pending as long as they run. */
  readonly death: Promise<never>;
}

/** The processes of Latchkey. */
interface Latchkey {
  readonly operator: RunningOperator;
  readonly gateway: DemoGateway;
  readonly issuers: Issuers;
}

const logTailLines = 20;
const endsNow =
  '\nAll of this ends now. npm run demo, without --once, keeps it running and says what to try.';
/** Both control planes are on loopback, which is dialled only when a setting allows it. */
const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };

/**
 * Runs the demo from the start to its end; nothing that it started is left when this settles.
 * @throws Interrupted when a signal comes before everything is ready.
 * @throws Error saying what did not work.
 */
export async function runDemo({ once, verbose, say, print, interrupt }: DemoOptions): Promise<void> {
  const started = new Started();
  // After a signal nothing new may begin behind the back of the clean-up.
  const step: Say = (text) => {
    interrupt.check();
    say(text);
  };
  const detail: Say = (text) => (verbose ? step(text) : interrupt.check());
  const stage = { once, verbose, step, detail, print, ending: started.ending };
  try {
    const { death } = await interrupt.unless(startAndShow(started, stage));
    if (once) return print(endsNow);
    print('All of this is running. Ctrl-C ends it and leaves nothing behind.');
    await Promise.race([death, interrupt.received]);
  } finally {
    if (verbose) say('ending what was started');
    await started.end();
    say('ended; no process and no file is left');
  }
}

async function startAndShow(started: Started, stage: Stage): Promise<Running> {
  const { step, detail } = stage;
  detail('looking for etcd, kube-apiserver, kube-controller-manager and kubectl');
  const binaries = await controlPlaneBinaries(process.env, step);
  detail(`found them in ${path.dirname(binaries.etcd)}`);
  step('starting two control planes: the platform, and one that plays a virtual cluster');
  const [platform, virtual] = await Promise.all([
    started.controlPlane('demo', binaries),
    started.controlPlane('demo-virtual', binaries, { authentication: noIssuer }),
  ]);
  detail(
    `the platform's API server answers at ${platform.server}, that of a virtual cluster at ${virtual.server}`,
  );
  const node = new PlayedNode(started, virtual);
  step('installing Latchkey: config/default with config/site-policy, the operator and the gateway');
  detail(
    'applying config/default and config/site-policy: CRDs, admission policies, roles, what the site asks for',
  );
  await install(platform);
  const latchkey = await startLatchkey(started, platform, detail);
  const death = Promise.race([
    deathOf('operator', latchkey.operator),
    deathOf('gateway', latchkey.gateway.running),
  ]);
  // Our own stop ends them too, when nothing listens any more.
  death.catch(() => undefined);
  await Promise.race([death, show({ platform, virtual }, { ...latchkey, node }, stage)]);
  return { death };
}

async function startLatchkey(started: Started, platform: ControlPlaneAccess, detail: Say): Promise<Latchkey> {
  const [baseURL, pageURL] = await Promise.all([chooseBaseURL(), choosePageURL()]);
  detail('starting the operator as a process of its own, under its ServiceAccount');
  const operator = await RunningOperator.start(platform, await started.guard('demo-operator'), {
    env: { ...env, LATCHKEY_BASE_URL: baseURL },
  });
  detail(`starting the gateway at ${baseURL}, with the certificate that the operator makes`);
  const issuers = await startIssuers(started, pageURL);
  const trusting = { ...env, LATCHKEY_TRUSTED_ISSUERS: trustedIssuers(issuers) };
  const guard = await started.guard('demo-gateway');
  const starting = startGateway(platform, guard, { baseURL, pageURL }, trusting);
  const gateway = await Promise.race([deathOf('operator', operator), starting]);
  detail('waiting until the operator is ready: what is made right after the policies does not count');
  const isReady = async () => (await healthOf(operator, '/readyz')).status === 200;
  await Promise.race([
    deathOf('operator', operator),
    until('the operator is ready', isReady, { timeoutMs: 120_000 }),
  ]);
  return { operator, gateway, issuers };
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

async function show(planes: Planes, latchkey: Latchkey & Pick<Site, 'node'>, stage: Stage): Promise<void> {
  const { step, detail, print, verbose, once, ending } = stage;
  const { platform } = planes;
  const cast = await people(planes, latchkey);
  step('applying config/samples as alice, who runs the platform, and self-service in it as bob');
  await prepareProject(planes);
  await trustGateway(planes.virtual, latchkey.gateway);
  await inviteNewcomers(platform, latchkey.issuers);
  await applySamples(planes, cast.administrator, detail);
  const begun = await beginStory(cast);
  detail('waiting until all of them are Ready');
  const listing = await untilReady(platform, cast.administrator);
  if (listing !== undefined) {
    const end = await tailOf(latchkey.operator);
    throw new Error(`not everything got Ready:\n${listing}\nThe operator runs. ${end}`);
  }
  detail('everything is ready; going through the gateway with curl and kubectl');
  const summary = await collectSummary(planes, cast, latchkey.gateway, verbose);
  if (verbose) print(renderSummary(summary));
  step('playing a person who has nothing, and a pipeline');
  const { newcomers, commandLine } = await playNewcomers({ platform, ...latchkey, ending });
  print(renderNewcomers(newcomers));
  step('using the key of bob at the gateway, until Latchkey has renewed the token below it');
  print(renderStory(await finishStory(cast, begun)));
  if (once) return;
  const environment = await writeEnvironment(platform.folder, summary, logsOf(latchkey), {
    ...{ bin: commandLine.bin, password: latchkey.issuers.provider.password },
    pageURL: latchkey.gateway.pageURL,
  });
  const { pageURL } = latchkey.gateway;
  print(renderTrials({ environment, pageURL, addresses: await addressesOf(latchkey) }));
  if (verbose) print(renderMoreTrials(summary));
}

async function people({ platform }: Planes, { gateway }: Latchkey): Promise<Cast> {
  const administrator = await bindAdministrator(platform, 'alice');
  return {
    platform,
    gateway: gateway.running,
    administrator,
    user: await platform.kubeconfigFor(ordinaryUser),
  };
}

async function applySamples(planes: Planes, alice: string, detail: Say): Promise<void> {
  const { platform } = planes;
  detail('applying config/samples/cluster as administrator: no one else may use its Secret');
  await applyAs(platform, platform.adminKubeconfig, path.join(configFolder, 'samples/cluster'), detail);
  detail('applying config/samples as alice: their scopes name that cluster');
  await applyAs(platform, alice, path.join(configFolder, 'samples'), detail);
  detail('applying config/samples/virtual-cluster as alice');
  await applyAs(platform, alice, await virtualClusterSamples(planes), detail);
}

async function addressesOf({ operator, gateway }: Latchkey): Promise<readonly Addresses[]> {
  const of = async (name: string, port: (purpose: 'metrics' | 'health') => Promise<number>) => ({
    name,
    metrics: `http://127.0.0.1:${await port('metrics')}/metrics`,
    probe: `http://127.0.0.1:${await port('health')}/readyz`,
  });
  return await Promise.all([
    of('operator', async (purpose) => await listeningPort(operator, purpose)),
    of('gateway', async (purpose) => await gateway.running.listeningPort(purpose)),
  ]);
}

const logsOf = ({ operator, gateway }: Latchkey): Logs => ({
  operator: operator.process.logPath,
  gateway: gateway.running.process.logPath,
});
