import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../lab/controlplane/shared.ts';

const root = path.resolve(import.meta.dirname, '../..');
const patiently = { timeout: 90_000, interval: 100 };

let folder: string;
let npm: ChildProcess | undefined;
let output: string;

beforeEach(() => {
  // Everything that a demo leaves or runs is recognised by the folder for temporary files that it was given.
  folder = mkdtempSync(path.join(tmpdir(), 'demo-test-'));
  output = '';
});

afterEach(async () => {
  npm?.kill('SIGKILL');
  await vi.waitFor(() => expect(processes()).toEqual([]), patiently);
  rmSync(folder, { recursive: true, force: true });
});

function startDemo(...args: string[]): Promise<number | null> {
  npm = spawn('npm', ['run', 'demo', '--', ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [npm.stdout, npm.stderr]) stream?.on('data', (data) => (output += String(data)));
  return once(npm, 'close').then(([code]) => code as number | null);
}

const untilOutput = async (text: string): Promise<void> =>
  await vi.waitFor(() => expect(output).toContain(text), patiently);

/** Command lines of all processes that descend from the demo. */
function processes(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(pid, 'environ').includes(`TMPDIR=${folder}`))
    .map((pid) => read(pid, 'cmdline').replaceAll('\0', ' '))
    .filter((command) => command !== '');
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // It has just ended, or is somebody else's.
    return '';
  }
}

function expectNothingLeft(): void {
  expect(processes()).toEqual([]);
  // npm itself keeps a cache there.
  expect(readdirSync(folder).filter((name) => name.startsWith('latchkey-'))).toEqual([]);
}

/** Of the user who applied the samples. */
function kubeconfigInOutput(): string {
  return /export KUBECONFIG=(\S+)/.exec(output)?.[1] ?? '';
}

/** Where the demo has put a kubeconfig that was issued. */
function issuedInOutput(): string {
  return /export SHOP=(\S+)/.exec(output)?.[1] ?? '';
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
  it('with --once shows keys, a verified token and kubeconfigs, and ends with exit code 0', async () => {
    expect(await startDemo('--once')).toBe(0);
    expect(output).toMatch(/^\[ +\d+\.\d s\] found them in .*; starting two control planes$/m);
    expect(output).toMatch(/^ownedaccesskey\S+ .* True .* Issued/m);
    expect(output).toMatch(/^directclusterendpointtoken\S+ .* True .* Issued/m);
    expect(output).toMatch(
      /status\.credentialHash is the SHA-256 of its spec\.key\.\n {2}key ID [0-9a-f]{16}:/,
    );
    expect(output).toContain('it verifies against the published key set');
    expect(output).toContain('"iss": "https://latchkey.example.com"');
    expect(output).toMatch(/^p-demo +virtualclusterinstance\S+\/shop .* Ready .* True /m);
    expect(output).toMatch(/^p-demo +virtualclusterinstancekubeconfig\S+\/shop +shop +Token +\S+ +True /m);
    expect(output).toMatch(
      /^p-demo +virtualclusterinstancekubeconfig\S+\/shop-admin +shop +ClientCertificate +\S+ +True /m,
    );
    expect(output).toMatch(
      /^\$ kubectl --kubeconfig=\S+ get ns\nNAME .*\n(?:\S+ +Active .*\n)*shop-web +Active /m,
    );
    expect(output).toMatch(/^ {2}user {7}management\.platform\.sh:kubeconfig:[0-9a-f-]{36}:1$/m);
    expect(output).toContain('Its server is the gateway, which this version does not have yet');
    expect(output).not.toContain('To try things');
    expectNothingLeft();
  });

  it('stays until SIGINT, ends with exit code 0 and leaves nothing; no credential is in its output', async () => {
    const ended = startDemo();
    await untilOutput('Ctrl-C ends it');
    expect(output).toMatch(/^ {2}export KUBECONFIG=\S*alice\S*$/m);
    expect(output).toMatch(/^ {2}export ADMIN=\S*admin\S*$/m);
    const credentials = await credentialsIn(await sharedControlPlane());
    // Two plain keys, a token, that of a kubeconfig, and certificate and key of another.
    expect(credentials.length).toBeGreaterThanOrEqual(6);
    expect(statSync(issuedInOutput()).mode & 0o777).toBe(0o600);
    expect(processes()).toEqual(
      expect.arrayContaining([
        expect.stringContaining('kube-apiserver'),
        expect.stringContaining('main.ts operator'),
      ]),
    );
    npm?.kill('SIGINT');
    expect(await ended).toBe(0);
    expectNothingLeft();
    for (const credential of credentials) expect(output.includes(credential)).toBe(false);
    expect(output).not.toMatch(/lk_[0-9A-Za-z]{49}|eyJ[\w-]+\.[\w-]+\.|PRIVATE KEY/);
  });

  it.each(['starting two control planes', 'applying config/default', 'starting the operator'])(
    'ends by SIGINT while it is %s, too, and leaves nothing',
    async (step) => {
      const ended = startDemo('--once');
      await untilOutput(step);
      npm?.kill('SIGINT');
      expect(await ended).not.toBe(0);
      expectNothingLeft();
    },
  );

  it('says so when the operator ends, shows the end of its log, and fails', async () => {
    const ended = startDemo();
    await untilOutput('Ctrl-C ends it');
    const pid = readdirSync('/proc').find((name) =>
      /main\.ts\0operator\0/.test(read(name, 'environ').includes(folder) ? read(name, 'cmdline') : ''),
    );
    process.kill(Number(pid), 'SIGKILL');
    expect(await ended).toBe(1);
    expect(output).toContain('demo: the operator ended with exit code 137. The end of its log:\n{');
    expectNothingLeft();
  });

  it('refuses an argument that it does not know', async () => {
    expect(await startDemo('--onec')).toBe(2);
    expect(output).toContain('unknown argument "--onec"');
    expect(output).toContain('Usage: npm run demo');
  });
});
