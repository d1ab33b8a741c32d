import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { until } from '../../../lab/operator/until.ts';
import { readDocument, sectionOf } from '../../../tools/reference/document.ts';
import { expectEverythingShown, RunningDemo } from './running-demo.ts';

let demo: RunningDemo;

beforeEach(() => {
  demo = new RunningDemo();
});
afterEach(async () => await demo.end());

/** Of the user who applied the samples. */
function kubeconfigInOutput(): string {
  return /export KUBECONFIG=(\S+)/.exec(demo.output)?.[1] ?? '';
}

/** Where the demo has put a kubeconfig that was issued. */
function issuedInOutput(): string {
  return /export SHOP=(\S+)/.exec(demo.output)?.[1] ?? '';
}

const commandsOf = (section: string): string[] =>
  [...section.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command);

/** Runs commands in a terminal in which the lines were run that the demo prints for that. `stderr` says how far they came. */
async function asReader(...commands: string[]): Promise<{ exitCode: number; stderr: string }> {
  const lines = demo.output.match(/^ {2}export .*$/gm) ?? [];
  const script = ['set -e -o pipefail', ...lines, 'set -v', ...commands].join('\n');
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
    kubeconfig: kubeconfigInOutput(),
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
    expectEverythingShown(demo.output);
    expect(demo.output).toMatch(/^ {2}export KUBECONFIG=\S*alice\S*$/m);
    expect(demo.output).toMatch(/^ {2}export ADMIN=\S*admin\S*$/m);
    const credentials = await credentialsIn(await sharedControlPlane());
    // Two plain keys, a token, that of a kubeconfig, and certificate and key of another.
    expect(credentials.length).toBeGreaterThanOrEqual(6);
    expect(statSync(issuedInOutput()).mode & 0o777).toBe(0o600);
    const commands = ['Through the gateway', 'Credentials by POST'].flatMap((title) =>
      commandsOf(sectionOf(readDocument('README.md'), title)),
    );
    expect(commands.length).toBeGreaterThan(10);
    expect(await asReader(...commands)).toEqual({ exitCode: 0, stderr: expect.any(String) });
    const [, disabling = ''] = /^ {2}(kubectl patch oak .*\$PLATFORM get ns)$/m.exec(demo.output) ?? [];
    expect(disabling).not.toBe('');
    // The gateway may hear of it a moment after kubectl.
    await until('the key is refused', async () => (await asReader(disabling)).stderr.includes('is disabled'));
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
