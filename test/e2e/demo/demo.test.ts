import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { readDocument, sectionOf } from '../../../tools/reference/document.ts';
import { expectOneScreen, RunningDemo } from './running-demo.ts';

let demo: RunningDemo;

beforeEach(() => {
  demo = new RunningDemo();
});
afterEach(async () => await demo.end());

/** The file that the demo leaves for a shell. */
function environmentInOutput(): string {
  return /^ {2}source (\S+)$/m.exec(demo.output)?.[1] ?? '';
}

/** A value that the demo gives to a shell. */
function given(name: string): string {
  const lines = readFileSync(environmentInOutput(), 'utf8');
  return new RegExp(`^export ${name}='(.*)'$`, 'm').exec(lines)?.[1] ?? '';
}

const commandsOf = (section: string): string[] =>
  [...section.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command);

/** Runs commands in a terminal in which the line was run that the demo prints for that. `stderr` says how far they came. */
async function asReader(...commands: string[]): Promise<{ exitCode: number; stderr: string }> {
  const script = ['set -e -o pipefail', `source ${environmentInOutput()}`, 'set -v', ...commands].join('\n');
  const child = spawn('bash', ['-c', script], { cwd: demo.folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stderr, exitCode] = await Promise.all([text(child.stderr), ended]);
  return { exitCode, stderr };
}

interface Credential {
  readonly spec: { readonly key?: string };
  readonly status: { readonly token?: string; readonly kubeConfig?: string };
}

/** Keys, tokens, and what kubeconfigs authenticate with. */
async function credentialsIn(plane: ControlPlaneAccess): Promise<string[]> {
  const { stdout } = await plane.kubectl(['get', 'oak,dcet,vcik', '-A', '-o', 'json'], {
    kubeconfig: given('KUBECONFIG'),
  });
  const { items } = JSON.parse(stdout) as { items: Credential[] };
  return items
    .flatMap(({ spec, status }) => [spec.key, status.token, ...authenticatorsIn(status.kubeConfig)])
    .filter((text) => text !== undefined);
}

function authenticatorsIn(kubeConfig: string | undefined): string[] {
  if (kubeConfig === undefined) return [];
  const { users } = parse(kubeConfig) as { users: { user: Record<string, string> }[] };
  return users.flatMap(({ user }) => Object.values(user));
}

describe('npm run demo', () => {
  it('stays until SIGINT, ends with exit code 0 and leaves nothing; no credential is in its output', async () => {
    const ended = demo.start();
    await demo.untilOutput('Ctrl-C ends it');
    expectOneScreen(demo.output);
    expect(statSync(environmentInOutput()).mode & 0o777).toBe(0o600);
    expect(given('KUBECONFIG')).toContain('alice');
    expect(given('ADMIN')).toContain('admin');
    const addresses = [...demo.output.matchAll(/http:\S+\/(?:metrics|readyz)/g)].map(([address]) => address);
    expect(addresses).toHaveLength(4);
    expect(await Promise.all(addresses.map(async (address) => (await fetch(address)).status))).toEqual([
      200, 200, 200, 200,
    ]);
    const credentials = await credentialsIn(await sharedControlPlane());
    // Two plain keys, a token, that of a kubeconfig, and certificate and key of another.
    expect(credentials.length).toBeGreaterThanOrEqual(6);
    expect(statSync(given('SHOP')).mode & 0o777).toBe(0o600);
    const commands = ['Through the gateway', 'Credentials by POST'].flatMap((title) =>
      commandsOf(sectionOf(readDocument('README.md'), title)),
    );
    expect(commands.length).toBeGreaterThan(10);
    expect(await asReader(...commands)).toEqual({ exitCode: 0, stderr: expect.any(String) });
    const trials = demo.output.match(/^ {2}kubectl .*(?= {3})/gm) ?? [];
    expect(trials.length).toBeGreaterThan(2);
    expect(await asReader(...trials)).toEqual({ exitCode: 0, stderr: expect.any(String) });
    expect([...demo.processes().values()]).toEqual(
      expect.arrayContaining([
        expect.stringContaining('kube-apiserver'),
        expect.stringContaining('main.ts operator'),
        expect.stringContaining('main.ts gateway'),
      ]),
    );
    demo.interrupt();
    expect(await ended).toBe(0);
    demo.expectNothingLeft();
    for (const credential of credentials) expect(demo.output.includes(credential)).toBe(false);
    expect(demo.output).not.toMatch(/lk_[0-9A-Za-z]{49}|eyJ[\w-]+\.[\w-]+\.|PRIVATE KEY/);
  });

  it('refuses an argument that it does not know', async () => {
    expect(await demo.start('--onec')).toBe(2);
    expect(demo.output).toContain('unknown argument "--onec"');
    expect(demo.output).toContain('Usage: npm run demo');
  });
});
