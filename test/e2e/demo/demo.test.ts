import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { buildGoProgram } from '../../../lab/go/build-program.ts';
import { kubeletSource } from '../../../lab/kubelet/kubelet.ts';
import { until } from '../../../lab/operator/until.ts';
import {
  directClusterEndpointTokens,
  events,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { createKubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { notRun, runOtherwise, sectionsElsewhere } from '../document-runs.ts';
import { allCommands, commandsOf, isElsewhere, isListed, pages, readPage } from './guides.ts';
import { Leftovers } from './leftovers.ts';
import { expectStories, RunningDemo } from './running-demo.ts';

const demo = new RunningDemo();
let ended: Promise<number | null>;
let seen: readonly string[] = [];
let hasGo = false;

/** The file that the demo leaves for a shell. */
function environmentInOutput(): string {
  return /^ {2}source (\S+)$/m.exec(demo.output)?.[1] ?? '';
}

/** A value that the demo gives to a shell. */
function given(name: string): string {
  const lines = readFileSync(environmentInOutput(), 'utf8');
  return new RegExp(`^export ${name}='(.*)'$`, 'm').exec(lines)?.[1] ?? '';
}

/** Runs commands in a terminal in which the line was run that the demo prints for that. `stderr` says how far they came. */
async function asReader(...commands: string[]): Promise<{ exitCode: number; stderr: string }> {
  const script = ['set -e -o pipefail', `source ${environmentInOutput()}`, 'set -v', ...commands].join('\n');
  const child = spawn('bash', ['-c', script], { cwd: demo.folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stderr, exitCode] = await Promise.all([text(child.stderr), exited]);
  return { exitCode, stderr };
}

/**
 * A shell in the pod that does not end by itself, nor what it started. Resolves to its end. The page about locks has stopped the
 * certificate of $SHOP meanwhile, and another one took its place.
 */
async function stubbornShell(): Promise<{ readonly ended: Promise<unknown> }> {
  const get = 'kubectl --kubeconfig=$ADMIN get vcik $(basename $SHOP .yaml) -n p-demo';
  const fetch = `(umask 077; ${get} -o jsonpath='{.status.kubeConfig}' > again.yaml)`;
  const command = `${fetch}; kubectl --kubeconfig=again.yaml exec web-0 -n shop-web -- sh -c 'trap "" TERM; sleep 7777 & wait'`;
  const ended = asReader(`${command} || true`);
  const runs = async () => [...demo.processes().values()].some((line) => line.includes('sleep 7777'));
  await until('the shell runs', runs);
  return { ended };
}

const disabledByStory = ['bob-laptop Disabled', 'bob-staging AccessKeyNotLive'];

interface WrittenEvent extends KubeObject {
  readonly type: string;
  readonly reportingController: string;
  readonly reason: string;
  readonly regarding: { readonly name: string };
}

interface Credential extends KubeObject {
  readonly spec: { readonly key?: string };
  readonly status: { readonly token?: string; readonly kubeConfig?: string };
}

/** As the user of a kubeconfig that the demo gives. */
async function listAs<T extends KubeObject>(name: string, ...kinds: readonly Resource[]): Promise<T[]> {
  const kubeConfig = kubeConfigSource({ file: given(name) });
  const client = createKubeClient({ kubeConfig, userAgent: 'latchkey-test' });
  const lists = await Promise.all(kinds.map(async (kind) => await client.list<T>(kind)));
  await client.close();
  return lists.flatMap(({ items }) => items);
}

/** Keys, tokens, and what kubeconfigs authenticate with. */
async function credentials(): Promise<string[]> {
  const kinds = [ownedAccessKeys, directClusterEndpointTokens, virtualClusterInstanceKubeConfigs];
  return (await listAs<Credential>('KUBECONFIG', ...kinds))
    .flatMap(({ spec, status }) => [spec.key, status.token, ...authenticatorsIn(status.kubeConfig)])
    .filter((text) => text !== undefined);
}

function authenticatorsIn(kubeConfig: string | undefined): string[] {
  if (kubeConfig === undefined) return [];
  const { users } = parse(kubeConfig) as { users: { user: Record<string, string> }[] };
  return users.flatMap(({ user }) => Object.values(user));
}

describe('npm run demo', () => {
  beforeAll(async () => {
    // The demo does not wait for the first build of all.
    hasGo = await buildGoProgram(kubeletSource, path.join(demo.folder, 'kubelet'));
    ended = demo.start();
    await demo.untilOutput('Ctrl-C ends it');
  });
  afterAll(async () => await demo.end());

  it('tells briefly what newcomers, an ordinary user and an administrator did', () => {
    expectStories(demo.output, hasGo);
  });

  it('warns of nothing but what the administrator disabled, although its objects came in any order', async () => {
    const written = await listAs<WrittenEvent>('ADMIN', events);
    const ours = written.filter(
      ({ reportingController, type }) => reportingController === 'latchkey-operator' && type === 'Warning',
    );
    const warned = ours.map(({ regarding, reason }) => `${regarding.name} ${reason}`);
    expect(warned.filter((warning) => !disabledByStory.includes(warning))).toEqual([]);
  });

  it('says where operator and gateway answer people and Prometheus', async () => {
    const addresses = [...demo.output.matchAll(/http:\S+\/(?:metrics|readyz)/g)].map(([address]) => address);
    expect(addresses).toHaveLength(4);
    const answers = await Promise.all(addresses.map(async (address) => await fetch(address)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('shows the page where it says', async () => {
    const pageURL = given('PAGE');
    expect(demo.output).toContain(`  ${pageURL}  the page`);
    const resolve = `--resolve ${new URL(pageURL).host}:127.0.0.1`;
    const read = `curl --fail --silent --insecure ${resolve} $PAGE | grep -q '<title>Latchkey: your keys</title>'`;
    expect(await asReader(read)).toEqual({ exitCode: 0, stderr: expect.any(String) });
  });

  it('leaves what a shell needs to its user alone, and the commands that it names work there', async () => {
    expect(statSync(environmentInOutput()).mode & 0o777).toBe(0o600);
    expect(given('KUBECONFIG')).toContain('alice');
    expect(given('ADMIN')).toContain('admin');
    seen = await credentials();
    // Two plain keys, a token, that of a kubeconfig, and certificate and key of another.
    expect(seen.length).toBeGreaterThanOrEqual(6);
    expect(statSync(given('SHOP')).mode & 0o777).toBe(0o600);
    const trials = demo.output.match(/^ {2}kubectl .*(?= {3})/gm) ?? [];
    expect(trials.length).toBeGreaterThan(2);
    expect(await asReader(...trials)).toEqual({ exitCode: 0, stderr: expect.any(String) });
  });

  describe('is a place in which every command of a page does what the page says, and says what the page shows:', () => {
    let leftovers: Leftovers;
    beforeAll(async () => {
      leftovers = new Leftovers(given('ADMIN'));
      await leftovers.remember();
    });
    afterEach(async () => await leftovers.remove());
    afterAll(async () => await leftovers.close());

    it.each(pages.filter((page) => commandsOf(page).length > 0))(
      '%s, with nothing of another page',
      async (page) => {
        const { exitCode, stderr } = await readPage(page, environmentInOutput(), demo.folder);
        expect(exitCode, stderr).toBe(0);
      },
    );
  });

  it('stays until SIGINT, ends with exit code 0 and leaves nothing; no credential is in its output', async () => {
    const shell = hasGo ? await stubbornShell() : undefined;
    expect([...demo.processes().values()]).toEqual(
      expect.arrayContaining([
        expect.stringContaining('kube-apiserver'),
        expect.stringContaining('main.ts operator'),
        expect.stringContaining('main.ts gateway'),
      ]),
    );
    demo.interrupt();
    expect(await ended).toBe(0);
    await shell?.ended;
    demo.expectNothingLeft();
    for (const credential of seen) expect(demo.output.includes(credential)).toBe(false);
    expect(demo.output).not.toMatch(/lk_[0-9A-Za-z]{49}|eyJ[\w-]+\.[\w-]+\.|PRIVATE KEY/);
  });
});

it('refuses an argument that it does not know', async () => {
  const other = new RunningDemo();
  expect(await other.start('--onec')).toBe(2);
  expect(other.output).toContain('unknown argument "--onec"');
  expect(other.output).toContain('Usage: npm run demo');
  await other.end();
});

describe('the lists of commands that run elsewhere or nowhere', () => {
  it.each(notRun)('$command of $page is there, and cannot run', (entry) => {
    expect(allCommands.filter((step) => isListed(step, entry)).length).toBeGreaterThan(0);
  });

  it.each(runOtherwise)('what runs otherwise, because $why, is in some command', ({ from }) => {
    const found = allCommands.filter(({ block: { command } }) => command.replaceAll(from, '') !== command);
    expect(found.length).toBeGreaterThan(0);
  });

  it('no command that runs elsewhere shows an output, which no one would compare', () => {
    const shown = allCommands.filter((step) => isElsewhere(step) && step.block.output !== '');
    expect(shown).toEqual([]);
  });

  it.each(sectionsElsewhere)('$section of $page has commands', ({ page, section }) => {
    const steps = allCommands.filter((step) => step.page === page && step.section === section);
    expect(steps.length).toBeGreaterThan(0);
  });
});
