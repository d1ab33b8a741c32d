import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject } from 'vitest';
import { until } from '../../../lab/operator/until.ts';

const root = path.resolve(import.meta.dirname, '../../..');
/** Below the time limit of the tests. */
const patiently = { timeoutMs: 240_000, everyMs: 100 };

/** Of all demos of a run: each starts dozens of programs from the sources. */
const compileCache = (): string => path.join(path.dirname(inject('bundle')), 'compile-cache-of-demos');

/** `npm run demo` as people start it. What it leaves or runs is recognised by its own folder for temporary files. */
export class RunningDemo {
  /** Its folder for temporary files, in which readers may work too. */
  readonly folder = mkdtempSync(path.join(tmpdir(), 'demo-test-'));
  #npm: ChildProcess | undefined;
  #output = '';

  /** Resolves with the exit code. */
  start(...args: string[]): Promise<number | null> {
    const npm = spawn('npm', ['run', 'demo', '--', ...args], {
      cwd: root,
      env: { ...process.env, TMPDIR: this.folder, NODE_COMPILE_CACHE: compileCache() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#npm = npm;
    for (const stream of [npm.stdout, npm.stderr])
      stream?.on('data', (data) => {
        this.#output += String(data);
      });
    return once(npm, 'close').then(([code]) => code as number | null);
  }

  get output(): string {
    return this.#output;
  }

  interrupt(): void {
    this.#npm?.kill('SIGINT');
  }

  async untilOutput(text: string): Promise<void> {
    const seen = () => this.#output;
    await until(`the demo says: ${text}`, async () => this.#output.includes(text), { ...patiently, seen });
  }

  /** Command lines of all processes that descend from it, by process id. A shell in a pod has no environment, and works in a folder of it. */
  processes(): ReadonlyMap<number, string> {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const own = pids.filter(
      (pid) => read(pid, 'environ').includes(`TMPDIR=${this.folder}`) || isIn(this.folder, pid),
    );
    const commands = own.map((pid) => [Number(pid), read(pid, 'cmdline').replaceAll('\0', ' ')] as const);
    return new Map(commands.filter(([, command]) => command !== ''));
  }

  expectNothingLeft(): void {
    expect([...this.processes().values()]).toEqual([]);
    // npm itself keeps a cache there.
    expect(readdirSync(this.folder).filter((name) => name.startsWith('latchkey-'))).toEqual([]);
  }

  /** Call it after each test. */
  async end(): Promise<void> {
    this.#npm?.kill('SIGKILL');
    const gone = async () => this.processes().size === 0;
    await until('the processes of the demo are gone', gone, patiently);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Below npm's own lines: the story of newcomers, that of a user and an administrator, and nothing that a terminal would break. `hasGo`:
 * there is a kubelet, and so a shell.
 */
export function expectStories(output: string, hasGo: boolean): void {
  const lines = output
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('npm warn'));
  expect(lines.length, output).toBeLessThanOrEqual(63);
  expect(Math.max(...lines.map((line) => line.length)), output).toBeLessThanOrEqual(100);
  expectNewcomers(output, hasGo);
  expectStory(output);
}

const matching = (parts: readonly RegExp[]): RegExp =>
  new RegExp(parts.map(({ source }) => source).join(''), 'm');

const shell = {
  shown: / {2}dana\$ kubectl exec -i web-0 .* -- sh\n {4}\$ pwd\n {4}\/\S+\/commands\n/,
  ends: / {4}the shell ends: close 1008 \(policy violation\): the credential .*\n/,
};
const noShell = { shown: / {2}A shell is not shown: .* there is no Go on this machine\.\n/, ends: /(?:)/ };

/** Someone logs in, and a pipeline exchanges its token; each works, and then gives its key back. */
function expectNewcomers(output: string, hasGo: boolean): void {
  const { shown, ends } = hasGo ? shell : noShell;
  expect(output).toMatch(
    matching([
      /^ {2}dana\$ latchkey login --device --base-url https:\S+\n {4}Open https:\S+ and type the code \S+\n {4}You are dana at .*\n/,
      / {2}dana\$ latchkey targets\n(?: {4}.*\n)* {4}.*\bshop\b.*\n/,
      / {2}dana\$ latchkey kubeconfig \S+ --merge\n {2}dana\$ kubectl get pods .*\n {4}NAME .*\n {4}web-0 +1\/1 +Running .*\n/,
      ...[shown, / {2}dana\$ latchkey revoke \S+\n/, ends],
      / {2}dana\$ kubectl get pods .*\n {4}\S.*\n.*\n/,
      / {2}job\$ latchkey exchange --trust ci-web .*\n(?: {4}.*\n)? {2}job\$ latchkey kubeconfig .*\n/,
      / {2}job\$ kubectl get pods .*\n {4}pod\/web-0\n {2}job\$ latchkey revoke < job\.key\n {4}.* is deleted: the gateway refus/,
    ]),
  );
}

/** A key works, its token is renewed, and then the key does not work any more. */
function expectStory(output: string): void {
  expect(output).toMatch(
    matching([
      /^ {2}bob\$ kubectl create -k \S+\n(?: {4}\S+\/bob-\S+ created\n){2}/,
      /(?:.*\n)? {4}200 {2}GET \S+\/virtualcluster\/shop\/\S+ {2}\d+ namespaces\n/,
      / {4}403 {2}GET \S+\/management\/\S+ {2}out of scope: .*\n.*\n/,
      / {4}serial \d+, issued \S+, ends \S+ UTC\n {4}serial \d+, issued \S+, ends \S+ UTC\n/,
      /.* alice yes, bob no\.\n {2}alice\$ kubectl patch .*\n {4}401 .* the access key is disabled\n/,
      / {2}bob\$ kubectl delete .*\n {4}401 .*$/,
    ]),
  );
}

/** Keys, a verified token and kubeconfigs, and what they do. */
export function expectEverythingShown(output: string): void {
  expect(output).toMatch(/^\[ +\d+\.\d s\] found them in /m);
  expectStory(output);
  expect(output).toMatch(/^ownedaccesskey\S+ .* Ready /m);
  expect(output).toMatch(/^directclusterendpointtoken\S+ .* Ready /m);
  expect(output).toMatch(
    /status\.credentialHash is the SHA-256 of its spec\.key\.\n {2}key ID [0-9a-f]{16}:/,
  );
  expect(output).toContain('it verifies against the published key set');
  expect(output).toMatch(/"iss": "https:\/\/127\.0\.0\.1:\d+"/);
  expect(output).toMatch(/^p-demo +virtualclusterinstance\S+\/shop .* Ready /m);
  expect(output).toMatch(
    /^p-demo +virtualclusterinstancekubeconfig\S+\/shop +alice +shop +Token +Ready +\S+ /m,
  );
  expect(output).toMatch(
    /^p-demo +virtualclusterinstancekubeconfig\S+\/shop-admin +alice +shop +ClientCertificate +Ready +\S+ /m,
  );
  expect(output).toMatch(
    /^\$ kubectl --kubeconfig=\S+ get ns\nNAME .*\n(?:\S+ +Active .*\n)*shop-web +Active /m,
  );
  expect(output).toMatch(/^ {2}user {7}management\.platform\.sh:kubeconfig:[0-9a-f-]{36}:1$/m);
  expect(output).toMatch(
    /^\$ curl --cacert \S+ -H "Authorization: Bearer \$KEY" https:\S+\/kubernetes\/management\/version\n\{\n {2}"major": "1",$/m,
  );
  expect(output).toMatch(
    /^\$ kubectl --kubeconfig=\S+ auth whoami\nATTRIBUTE .*\nUsername +alice\n(?:.*\n)*?.*access-key.*sample-/m,
  );
  expect(output).toMatch(
    /^\$ kubectl --kubeconfig=\S+\/shop\.yaml get ns\nNAME .*\n(?:\S+ +Active .*\n)*shop-web +Active /m,
  );
  expectPosted(output);
}

/** Each credential with the command that made it and the one that used it. */
function expectPosted(output: string): void {
  const [, key = '', token = '', kubeConfig = ''] = output.split(/^(?=\$ curl .* -d 'spec: )/m);
  expect(key).toMatch(/^\$ curl .* -d '.*' https:\S+\/ownedaccesskeys\n {2}made: OwnedAccessKey "key-/);
  const [, made = ''] = /"(key-\S+)"/.exec(key) ?? [];
  expect(key).toMatch(/^\$ kubectl \S+ auth whoami\nATTRIBUTE .*\nUsername +alice\n/m);
  expect(key).toContain(`[${made}/`);
  expect(token).toMatch(/\/directclusterendpointtokens\n {2}made: DirectClusterEndpointToken "token-/);
  expect(token).toMatch(
    /^\$ kubectl .* --token="\$TOKEN" auth whoami\nATTRIBUTE .*\nUsername +alice\n(?:.*\n)*?.*JTI=/m,
  );
  expect(kubeConfig).toMatch(
    /\/virtualclusterinstances\/shop\/kubeconfig\n {2}made: VirtualClusterInstanceKubeConfig "shop"\n/,
  );
  expect(kubeConfig).toMatch(/^\$ kubectl \S+ get ns\nNAME .*\n(?:\S+ +Active .*\n)*shop-web +Active /m);
}

function isIn(folder: string, pid: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`);
  } catch {
    return false;
  }
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // It has just ended, or is somebody else's.
    return '';
  }
}
