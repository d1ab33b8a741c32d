import { readFile } from 'node:fs/promises';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { until } from '../../lab/operator/until.ts';
import { browse } from '../../lab/provider/browser.ts';
import { type OpenIDProvider, startProvider } from '../../lab/provider/provider.ts';
import type { TokenIssuer } from '../../lab/provider/token-issuer.ts';
import { requireSuccess } from './cluster.ts';
import { type CommandLine, type Going, installCommandLine, type Step, Terminal } from './command-line.ts';
import type { DemoGateway } from './gateway.ts';
import type { PlayedNode } from './node.ts';
import type { Started } from './started.ts';
import { projectNamespace } from './virtual-cluster.ts';

/** Known to the provider of the site alone. */
export const newcomer = 'dana';
/** The key that takes tokens of a pipeline, and its user. */
export const pipelineKey = 'ci-web';
const group = 'shop-team';
const repository = { repository_id: '821093847', ref: 'refs/heads/main' };
const pods = 'kubectl get pods -n shop-web';
const shell = 'kubectl exec -i web-0 -n shop-web -- sh';
const target = 'virtualcluster/demo/shop';

/** Where people log in, and what signs the tokens of pipelines. */
export interface Issuers {
  readonly provider: OpenIDProvider;
  readonly pipelines: TokenIssuer;
}

/** The steps of a person and a pipeline that had nothing before. No key is in them. A text says why a step is left out. */
export interface Newcomers {
  readonly person: readonly (Step | string)[];
  readonly pipeline: readonly Step[];
}

/** `pageURL`: where people log in with a browser. */
export async function startIssuers(started: Started, pageURL: string): Promise<Issuers> {
  const people = { [newcomer]: { preferred_username: newcomer, groups: [group] } };
  const guard = await started.guard('demo-provider');
  const [provider, pipelines] = await Promise.all([
    startProvider(guard, { people, clients: { 'latchkey-cli': 600 }, pages: [pageURL] }),
    started.tokenIssuer(),
  ]);
  return { provider, pipelines };
}

/** The setting of the gateway. */
export function trustedIssuers({ provider, pipelines }: Issuers): string {
  const login = {
    clientID: 'latchkey-cli',
    username: { claim: 'preferred_username', prefix: '' },
    groups: { claim: 'groups', prefix: 'site:', allowed: ['shop-*'] },
  };
  return JSON.stringify([
    { issuer: provider.issuer, certificateAuthority: provider.ca, login },
    { issuer: pipelines.issuer, algorithms: ['ES256'], certificateAuthority: pipelines.certificateAuthority },
  ]);
}

/** As administrator: the group of the provider and the pipeline may use the virtual cluster, and a key names the pipeline. */
export async function inviteNewcomers(platform: ControlPlaneAccess, { pipelines }: Issuers): Promise<void> {
  const binding = ['create', 'rolebinding', 'newcomers', '-n', projectNamespace, '--role=shop-users'];
  const bound = await platform.kubectl([...binding, `--group=site:${group}`, `--user=${pipelineKey}`]);
  requireSuccess(bound, 'kubectl create rolebinding newcomers');
  const key = {
    apiVersion: 'management.platform.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: { name: pipelineKey },
    spec: {
      user: pipelineKey,
      ttl: 86_400,
      scope: { projects: [{ project: 'demo' }] },
      exchange: { maxTTL: 900, tokens: [{ issuer: pipelines.issuer, claims: repository }] },
    },
  };
  const made = await platform.kubectl(['create', '-f', '-'], { input: JSON.stringify(key) });
  requireSuccess(made, `creating the key ${pipelineKey}`);
}

/** The parts of the demo that newcomers meet. */
export interface Site {
  readonly platform: ControlPlaneAccess;
  readonly gateway: DemoGateway;
  readonly issuers: Issuers;
  readonly node: PlayedNode;
  /** Ends their programs. */
  readonly ending: AbortSignal;
}

/** @throws Error when something shown is not true. */
export async function playNewcomers(
  site: Site,
): Promise<{ readonly newcomers: Newcomers; readonly commandLine: CommandLine }> {
  const { platform, gateway, issuers, ending } = site;
  const commandLine = await installCommandLine(platform, gateway, issuers.provider);
  const [person, pipeline] = await Promise.all([
    playPerson(new Terminal(commandLine, newcomer, ending), site),
    playPipeline(new Terminal(commandLine, 'pipeline', ending), gateway, issuers),
  ]);
  return { newcomers: { person, pipeline }, commandLine };
}

async function playPerson(
  terminal: Terminal,
  { gateway, issuers, node }: Site,
): Promise<Newcomers['person']> {
  const { baseURL } = gateway;
  const { provider } = issuers;
  await terminal.begin();
  const login = await terminal.runWith(`latchkey login --device --base-url ${baseURL}`, async (said) => {
    const [, page, code] = /^Open (\S+) and type the code (\S+)$/m.exec(said) ?? [];
    if (page === undefined || code === undefined) return false;
    await browse(page, provider.ca, { login: newcomer, password: provider.password, code });
    return true;
  });
  const targets = await until('the person may use a target', async () => {
    const step = await terminal.run('latchkey targets');
    return step.said.join('\n').includes('shop') ? step : undefined;
  });
  const kubeconfig = await terminal.run(`latchkey kubeconfig ${target} --merge`);
  const listed = await terminal.run(pods);
  const { said } = await terminal.run('latchkey whoami -o json');
  const { accessKey } = JSON.parse(said.join('\n')).status;
  const whyNone = await node.whyNone();
  const opened = whyNone === undefined ? await openShell(terminal) : undefined;
  const revoked = await terminal.run(`latchkey revoke ${accessKey}`);
  const refused = await until('the key is refused', async () => await terminal.run(pods, { fails: true }));
  return [
    { ...login, said: login.said.filter((line) => !line.startsWith('Or open')) },
    targets,
    { ...kubeconfig, said: [] },
    listed,
    opened?.step ?? `  A shell is not shown: it needs a kubelet, and ${whyNone}.`,
    { ...revoked, said: opened === undefined ? [] : [await endOf(opened)] },
    { ...refused, said: refused.said.slice(0, 1) },
  ];
}

interface Opened extends Pick<Going, 'ended'> {
  readonly step: Step;
}

/** A shell that its person does not close. Commands run in a folder of the kubelet. */
async function openShell(terminal: Terminal): Promise<Opened> {
  const { type, ended } = terminal.open(shell);
  const said = await type('pwd', 'commands\n');
  return { step: { command: shell, said: ['$ pwd', ...said] }, ended };
}

/** Without the words of kubectl for the stream that ended. */
const endOf = async ({ ended }: Opened): Promise<string> =>
  `the shell ends: ${(await ended).at(-1)?.replace(/^.*websocket: /, '')}`;

async function playPipeline(
  terminal: Terminal,
  { baseURL }: DemoGateway,
  { pipelines }: Issuers,
): Promise<readonly Step[]> {
  await terminal.begin();
  const token = await pipelines.sign({ aud: baseURL, sub: 'repo:acme/web', ...repository });
  const env = { LATCHKEY_ID_TOKEN: token, LATCHKEY_BASE_URL: baseURL };
  const exchange = `latchkey exchange --trust ${pipelineKey} --write-key job.key`;
  const exchanged = await terminal.run(exchange, { env });
  const kubeconfig = await terminal.run(`latchkey kubeconfig ${target} --key-file job.key --merge`, { env });
  const listed = await until(
    'the pipeline may use the target',
    async () => await terminal.run(`${pods} -o name`),
  );
  const input = await readFile(terminal.file('job.key'), 'utf8');
  const revoked = await terminal.run('latchkey revoke < job.key', { env, input });
  return [{ ...exchanged, said: [] }, { ...kubeconfig, said: [] }, listed, revoked];
}
