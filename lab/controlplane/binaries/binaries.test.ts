import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../ports.ts';
import {
  cacheKey,
  kubernetesVersion,
  olderKubectlVersion,
  type ProgramName,
  toolNames,
} from '../versions.ts';
import { controlPlaneBinaries, olderKubectl } from './binaries.ts';
import { goBuild } from './build.ts';
import { digestFor, downloads } from './download.ts';
import { cacheFolder, cacheRoot } from './find.ts';
import { programOf, ReleaseServer } from './release-server.ts';
import { releaseOf } from './releases.ts';
import type { Source } from './source.ts';

const limits = { connectMs: 300, silenceMs: 300, totalMs: 30_000 };
const archiveName = path.posix.basename(releaseOf('etcd', {}).url);

let releases: ReleaseServer;
let home: string;
let env: Record<string, string>;
let reports: string[];

beforeEach(async () => {
  releases = await ReleaseServer.start();
  home = mkdtempSync(path.join(tmpdir(), 'latchkey-home-'));
  env = { ...releases.env, XDG_CACHE_HOME: path.join(home, 'cache'), PATH: process.env['PATH'] ?? '' };
  reports = [];
});

afterEach(async () => {
  await releases.stop();
  rmSync(home, { recursive: true });
});

const report = (text: string): void => void reports.push(text);

async function find(...sources: Source[]): ReturnType<typeof controlPlaneBinaries> {
  return await controlPlaneBinaries(env, report, sources);
}

/** Makes whatever is still missing, like a compiler that always works. */
function substitute(): Source & { asked: ProgramName[] } {
  const asked: ProgramName[] = [];
  const source: Source = async (tools, place) => {
    asked.push(...tools);
    fill(place.folder, tools);
    return [];
  };
  return Object.assign(source, { asked });
}

function fill(folder: string, tools: readonly ProgramName[], text = '#!/bin/sh\necho substitute\n'): void {
  mkdirSync(folder, { recursive: true });
  for (const tool of tools) writeFileSync(path.join(folder, tool), text, { mode: 0o755 });
}

/** Puts a command "go" into the PATH, in front of the one of this machine if any. */
function fakeGo(script: string): void {
  mkdirSync(path.join(home, 'bin'));
  writeFileSync(path.join(home, 'bin', 'go'), `#!/bin/sh\n${script}`, { mode: 0o755 });
  env['PATH'] = `${path.join(home, 'bin')}:/usr/bin:/bin`;
}

function inCache(): string[] {
  return existsSync(cacheRoot(env)) ? readdirSync(cacheRoot(env)) : [];
}

describe('the folder KUBEBUILDER_ASSETS', () => {
  const assets = (): string => path.join(home, 'assets');

  beforeEach(() => {
    env['KUBEBUILDER_ASSETS'] = assets();
  });

  it('is used when it holds all four', async () => {
    fill(assets(), toolNames, `#!/bin/sh\necho Kubernetes v${kubernetesVersion}\n`);
    expect(await find()).toEqual({
      etcd: path.join(assets(), 'etcd'),
      'kube-apiserver': path.join(assets(), 'kube-apiserver'),
      'kube-controller-manager': path.join(assets(), 'kube-controller-manager'),
      kubectl: path.join(assets(), 'kubectl'),
    });
    expect(reports).toEqual([]);
  });

  it('is passed over, and that is said, when one is missing or may not be executed', async () => {
    fill(assets(), ['etcd', 'kube-apiserver', 'kubectl']);
    chmodSync(path.join(assets(), 'kubectl'), 0o644);
    const { etcd } = await find(substitute());
    expect(etcd).toBe(path.join(cacheFolder(env), 'etcd'));
    expect(reports[0]).toBe(
      `KUBEBUILDER_ASSETS (${assets()}) lacks kube-controller-manager, kubectl; looking further`,
    );
  });

  it('is refused when its API server is too old for Latchkey', async () => {
    fill(assets(), toolNames, '#!/bin/sh\necho Kubernetes v1.35.9\n');
    await expect(find(substitute())).rejects.toThrow(
      'KUBEBUILDER_ASSETS holds Kubernetes v1.35.9; it must be v1.36 or newer, or not be set',
    );
  });

  it('counts as not set when it is empty', async () => {
    env['KUBEBUILDER_ASSETS'] = '';
    await find(substitute());
    expect(reports.join()).not.toContain('KUBEBUILDER_ASSETS');
  });
});

describe('the cache', () => {
  it.each([
    { base: '/caches', folder: `/caches/latchkey/controlplane/${cacheKey}` },
    { base: 'relative', folder: expect.stringMatching(/^\/.*\/\.cache\/latchkey\/controlplane\/1\.36/) },
    { base: undefined, folder: expect.stringMatching(/^\/.*\/\.cache\/latchkey\/controlplane\/1\.36/) },
  ])('stands at the right place for XDG_CACHE_HOME $base', ({ base, folder }) => {
    expect(cacheFolder({ XDG_CACHE_HOME: base })).toEqual(folder);
  });

  it('is used without any request once it is filled', async () => {
    await find(downloads(limits));
    const requests = releases.requests.length;
    const asked = substitute();
    await find(asked);
    expect({ requests: releases.requests.length, asked: asked.asked }).toEqual({ requests, asked: [] });
  });

  it('is filled again when somebody deleted one of its files', async () => {
    await find(downloads(limits));
    rmSync(path.join(cacheFolder(env), 'etcd'));
    await find(downloads(limits));
    expect(readdirSync(cacheFolder(env)).sort()).toEqual([...toolNames].sort());
    expect(inCache()).toEqual([cacheKey]);
  });

  it('shows nothing of an attempt that failed', async () => {
    await expect(find(async () => ['nothing to be had'])).rejects.toThrow('nothing to be had');
    expect(inCache()).toEqual([]);
  });
});

describe('the older kubectl', () => {
  const folder = () =>
    path.join(cacheRoot(env), `kubectl-${olderKubectlVersion}-${process.platform}-${process.arch}`);

  it('is no part of what a control plane waits for', async () => {
    await find(downloads(limits));
    expect(releases.requests.filter((url) => url.includes(olderKubectlVersion))).toEqual([]);
    expect(inCache()).toEqual([cacheKey]);
  });

  it('is downloaded by its own version when somebody asks for it, once', async () => {
    const get = async () => await olderKubectl(env, report, [downloads(limits), substitute()]);
    const program = await get();
    expect(program).toBe(path.join(folder(), 'older-kubectl'));
    expect(readFileSync(program)).toEqual(programOf('older-kubectl'));
    const requests = releases.requests.length;
    expect([await get(), releases.requests.length]).toEqual([program, requests]);
  });

  it('is built where it cannot be downloaded, or says why that cannot be', async () => {
    releases.faults.set('kubectl', (response) => response.writeHead(500).end());
    fakeGo('echo "$PWD $*" >&2; exit 1');
    const failure = await olderKubectl(env, report, [downloads(limits), goBuild]).catch(String);
    expect(failure).toContain(`download of older-kubectl: `);
    expect(failure).toMatch(/lab\/controlplane\/older-kubectl build .* -o \S+\/older-kubectl \.$/m);
    expect(failure).toContain(`version.gitVersion=v${olderKubectlVersion} `);
    expect(inCache()).toEqual([]);
  });
});

describe('a download', () => {
  it('brings all four, checked, executable and in the cache', async () => {
    const asked = substitute();
    const binaries = await find(downloads(limits), asked);
    for (const tool of toolNames) {
      expect(binaries[tool]).toBe(path.join(cacheFolder(env), tool));
      expect(readFileSync(binaries[tool])).toEqual(programOf(tool));
      expect(statSync(binaries[tool]).mode & 0o777).toBe(0o755);
    }
    expect(asked.asked).toEqual([]);
    expect(inCache()).toEqual([cacheKey]);
    expect(reports).toContain(`downloading ${releaseOf('kubectl', env).url}`);
    expect(reports).toContain('downloaded kube-apiserver');
  });

  it('follows a redirect', async () => {
    releases.faults.set('kubectl', (response) => {
      releases.faults.delete('kubectl');
      response.writeHead(302, { location: releaseOf('kubectl', env).url }).end();
    });
    const asked = substitute();
    await find(downloads(limits), asked);
    expect(asked.asked).toEqual([]);
  });

  const cut = (headers: Record<string, number>) => (response: ServerResponse, content: Buffer) => {
    response.writeHead(200, headers);
    response.write(content.subarray(0, 8), () => response.destroy());
  };
  it.each<{
    title: string;
    file: string;
    fault: (response: ServerResponse, content: Buffer) => void;
    why: RegExp;
  }>([
    {
      title: 'other bytes than its digest says',
      file: 'kube-apiserver',
      fault: (response) => response.end('#!/bin/sh\necho something else\n'),
      why: /kube-apiserver has SHA-256 [0-9a-f]{64}, but http.*\.sha256 says [0-9a-f]{64}; refused/,
    },
    {
      title: 'an archive with other bytes than its digest says',
      file: archiveName,
      fault: (response, content) => response.end(Buffer.concat([content, Buffer.from('x')])),
      why: /SHA-256 .*SHA256SUMS says .* refused/,
    },
    {
      title: 'no program',
      file: 'kubectl',
      fault: (response) => response.writeHead(404).end(),
      why: /kubectl answered 404/,
    },
    {
      title: 'no digest',
      file: 'kubectl.sha256',
      fault: (response) => response.writeHead(404).end(),
      why: /kubectl\.sha256 answered 404/,
    },
    {
      title: 'something else in place of the digest',
      file: 'kubectl.sha256',
      fault: (response) => response.end('<html>Log in to the network</html>'),
      why: /kubectl\.sha256 has no SHA-256 of kubectl/,
    },
    {
      title: 'a list of digests without the archive',
      file: 'SHA256SUMS',
      fault: (response) => response.end(`${'0'.repeat(64)}  other.tar.gz\n`),
      why: /SHA256SUMS has no SHA-256 of etcd-v/,
    },
    {
      title: 'a list of digests without end',
      file: 'SHA256SUMS',
      fault: (response) => response.end('x'.repeat(100_000)),
      why: /SHA256SUMS is too long for a list of digests/,
    },
    {
      title: 'less than it announced',
      file: 'kube-apiserver',
      fault: cut({ 'content-length': 1000 }),
      why: /kube-apiserver broke off after 8 bytes/,
    },
    {
      title: 'less than there is, without announcing a length',
      file: 'kube-apiserver',
      fault: cut({}),
      why: /kube-apiserver broke off after 8 bytes/,
    },
    {
      title: 'silence in place of an answer',
      file: 'kubectl.sha256',
      fault: () => undefined,
      why: /kubectl\.sha256 does not answer: Headers Timeout Error/,
    },
    {
      title: 'silence in the middle of the program',
      file: 'kubectl',
      fault: (response, content) => void response.write(content.subarray(0, 8)),
      why: /kubectl broke off after 8 bytes: Body Timeout Error/,
    },
  ])(
    'that brings $title is refused, and the next way is asked for that program alone',
    async ({ file, fault, why }) => {
      releases.faults.set(file, fault);
      const next = substitute();
      const binaries = await find(downloads(limits), next);
      const tool = toolNames.find((name) => file.startsWith(name)) ?? 'etcd';
      expect(next.asked).toEqual([tool]);
      expect(readFileSync(binaries[tool], 'utf8')).toContain('substitute');
      expect(reports.filter((text) => text.startsWith(`cannot download ${tool}:`)).join()).toMatch(why);
    },
  );

  it.each([
    {
      title: 'has no address',
      base: 'https://downloads.invalid',
      why: /does not answer: getaddrinfo (ENOTFOUND|EAI_AGAIN)/,
    },
    {
      title: 'refuses connections',
      base: 'http://127.0.0.1:<closed>',
      why: /does not answer: connect ECONNREFUSED/,
    },
  ])('from a host that $title fails at once', async ({ base, why }) => {
    const closed = await freePort();
    env['CONTROLPLANE_KUBERNETES_DOWNLOADS'] = base.replace('<closed>', String(closed));
    const next = substitute();
    const start = performance.now();
    await find(downloads(), next);
    expect(performance.now() - start).toBeLessThan(5000);
    expect(next.asked).toEqual(['kube-apiserver', 'kube-controller-manager', 'kubectl']);
    expect(reports.join('\n')).toMatch(why);
  });

  it.each(['http://mirror.example', 'http://127.0.0.1.example', 'ftp://127.0.0.1'])(
    'never comes from %s, which nothing vouches for',
    (base) => {
      expect(() => releaseOf('kubectl', { CONTROLPLANE_KUBERNETES_DOWNLOADS: base })).toThrow(
        'CONTROLPLANE_KUBERNETES_DOWNLOADS must be an https address',
      );
    },
  );

  it('comes from the projects themselves by default', () => {
    expect(releaseOf('kubectl', {}).url).toMatch(
      /^https:\/\/dl\.k8s\.io\/release\/v1\.36\.3\/bin\/(linux|darwin)\/(amd64|arm64)\/kubectl$/,
    );
    expect(releaseOf('etcd', {})).toMatchObject({
      url: expect.stringMatching(
        /^https:\/\/github\.com\/etcd-io\/etcd\/releases\/download\/v3\.6\.8\/etcd-v3\.6\.8-/,
      ),
      digestUrl: 'https://github.com/etcd-io/etcd/releases/download/v3.6.8/SHA256SUMS',
    });
  });
});

describe('a published digest', () => {
  const release = { url: 'https://host/path/etcd.tar.gz', digestUrl: 'https://host/path/sums' };
  const digest = 'ab'.repeat(32);

  it.each([
    ['alone', digest],
    ['alone with a line end', `${digest}\n`],
    ['in capitals', digest.toUpperCase()],
    ['with its file name', `${digest}  etcd.tar.gz\n`],
    ['as a binary file', `${digest} *etcd.tar.gz\n`],
    ['among others', `${'00'.repeat(32)}  a\n${digest}  etcd.tar.gz\n${'11'.repeat(32)}  b\n`],
  ])('is read when it stands %s', (_title, text) => {
    expect(digestFor(release, text)).toBe(digest);
  });

  it.each(['', '\n', 'ab', `${digest}ab`, `${digest}  other.tar.gz`, 'etcd.tar.gz'])(
    'is not found in %j',
    (text) => {
      expect(() => digestFor(release, text)).toThrow('https://host/path/sums has no SHA-256 of etcd.tar.gz');
    },
  );
});

describe('a build with Go', () => {
  it('compiles each program from the pinned modules, with its version and without settings of the user', async () => {
    const diary = path.join(home, 'diary');
    fakeGo(
      [
        `echo "$PWD|$CGO_ENABLED|$GOFLAGS|$GOWORK|$*" >>'${diary}'`,
        'while [ "$1" != -o ]; do shift; done',
        'echo "compiled $3" >"$2"; chmod u+x "$2"',
      ].join('\n'),
    );
    const binaries = await find(goBuild);
    expect(readFileSync(binaries.etcd, 'utf8')).toBe('compiled go.etcd.io/etcd/server/v3\n');
    expect(readFileSync(binaries.kubectl, 'utf8')).toBe('compiled k8s.io/kubernetes/cmd/kubectl\n');
    expect(statSync(binaries.kubectl).mode & 0o777).toBe(0o755);
    const calls = readFileSync(diary, 'utf8').trim().split('\n');
    expect(calls).toHaveLength(4);
    for (const call of calls) {
      expect(call).toContain(
        '/lab/controlplane/build|0|-mod=readonly -buildvcs=false|off|build -v -trimpath ',
      );
      expect(call).toContain('-X k8s.io/component-base/version.gitVersion=v1.36.3 ');
    }
    expect(reports.filter((text) => text.startsWith('compiling'))).toHaveLength(4);
  });

  it('is asked only for what is missing', async () => {
    fakeGo('while [ "$1" != -o ]; do shift; done; echo "compiled $3" >"$2"; chmod 755 "$2"');
    releases.faults.set('kubectl', (response) => response.writeHead(500).end());
    const binaries = await find(downloads(limits), goBuild);
    expect(readFileSync(binaries.kubectl, 'utf8')).toBe('compiled k8s.io/kubernetes/cmd/kubectl\n');
    expect(readFileSync(binaries.etcd)).toEqual(programOf('etcd'));
  });

  it('pins the versions that are downloaded otherwise', () => {
    const module = readFileSync(path.join(import.meta.dirname, '..', 'build', 'go.mod'), 'utf8');
    expect(module).toContain('k8s.io/kubernetes v1.36.3');
    expect(module).toContain('go.etcd.io/etcd/server/v3 v3.6.8');
    const staging = [...module.matchAll(/^\t?(?:replace )?(k8s\.io\/\S+) => \S+ (\S+)$/gm)];
    expect(staging.length).toBeGreaterThan(25);
    expect(new Set(staging.map(([, , version]) => version))).toEqual(new Set(['v0.36.3']));
  });
});

describe('without any way to get the programs', () => {
  it('one message says what was tried, why it failed, and what helps', async () => {
    const closed = await freePort();
    env['CONTROLPLANE_KUBERNETES_DOWNLOADS'] = `http://127.0.0.1:${closed}`;
    env['CONTROLPLANE_ETCD_DOWNLOADS'] = `http://127.0.0.1:${closed}`;
    env['PATH'] = '/nowhere';
    const error = await find(downloads(limits), goBuild).then(String, String);
    expect(
      error
        .replaceAll(home, '<home>')
        .replaceAll(cacheKey, '<key>')
        .replaceAll(String(closed), '<port>')
        .replaceAll(/linux|darwin|amd64|arm64/g, '*'),
    ).toMatchInlineSnapshot(`
      "Error: The local control plane needs etcd, kube-apiserver, kube-controller-manager, kubectl (Kubernetes 1.36.3), and no way to get them worked:
      - KUBEBUILDER_ASSETS is not set
      - the cache <home>/cache/latchkey/controlplane/<key> does not hold them
      - download of etcd: http://127.0.0.1:<port>/v3.6.8/SHA256SUMS does not answer: connect ECONNREFUSED 127.0.0.1:<port>
      - download of kube-apiserver: http://127.0.0.1:<port>/v1.36.3/bin/*/*/kube-apiserver.sha256 does not answer: connect ECONNREFUSED 127.0.0.1:<port>
      - download of kube-controller-manager: http://127.0.0.1:<port>/v1.36.3/bin/*/*/kube-controller-manager.sha256 does not answer: connect ECONNREFUSED 127.0.0.1:<port>
      - download of kubectl: http://127.0.0.1:<port>/v1.36.3/bin/*/*/kubectl.sha256 does not answer: connect ECONNREFUSED 127.0.0.1:<port>
      - build with Go: there is no command "go"
      Any one of these helps: put the four programs into a folder and set KUBEBUILDER_ASSETS to it; let this machine
      reach the download addresses (lab/controlplane/README.md has the variables for a mirror); install Go 1.26 or newer."
    `);
  });

  it('the message holds the end of what the compiler said', async () => {
    fakeGo('seq 40; echo no space left; exit 1');
    const error = await find(goBuild).then(String, String);
    expect(error).toMatch(/go build of etcd failed:\n\s+27\n(.*\n)*\s+40\n\s+no space left\n/);
  });
});

describe('the command that CI runs first', () => {
  it('fills the cache, shows its progress on standard error and prints the folder on standard output', async () => {
    const { code, stdout, stderr } = await runInstall();
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${cacheFolder(env)}\n` });
    expect(stderr).toMatch(/^control plane: downloading .*\/kubectl \(\d+ s\)$/m);
    expect(stderr).toContain(`control plane: the programs are in ${cacheFolder(env)} (`);
    expect(await runInstall()).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('fails with the one message and no stack', async () => {
    fakeGo('exit 1');
    env['CONTROLPLANE_ETCD_DOWNLOADS'] = `${releases.address}/nothing`;
    const { code, stdout, stderr } = await runInstall();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^The local control plane needs etcd, /m);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(inCache()).toEqual([]);
  });

  async function runInstall(): Promise<{ code: number; stdout: string; stderr: string }> {
    const child = startInstall();
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code, stdout, stderr };
  }
});

function startInstall(): ChildProcessWithoutNullStreams {
  const script = path.join(import.meta.dirname, '..', 'install.ts');
  return spawn(process.execPath, [script], { env: { ...process.env, ...env, KUBEBUILDER_ASSETS: '' } });
}

describe('several processes at once', () => {
  it('do the work once', async () => {
    const answer = new Promise<() => void>((resolve) => {
      releases.faults.set('kubectl', (response, content) => resolve(() => response.end(content)));
    });
    const patient = downloads({ ...limits, connectMs: 25_000, silenceMs: 25_000 });
    const finding = Promise.all([1, 2, 3].map(async () => await find(patient)));
    const give = await answer;
    await vi.waitFor(
      () => expect(reports).toContain('another process is fetching the programs, waiting for it'),
      90_000,
    );
    give();
    const found = await finding;
    expect(new Set(found.map((binaries) => binaries.etcd)).size).toBe(1);
    expect(releases.requests.filter((url) => url.endsWith('/kubectl'))).toHaveLength(1);
    expect(inCache()).toEqual([cacheKey]);
  });

  it('do not wait for one that was killed, and nothing of that one is left', async () => {
    const silent = new Promise<void>((resolve) => {
      releases.faults.set('kubectl', () => {
        releases.faults.delete('kubectl');
        resolve();
      });
    });
    const first = startInstall();
    await silent;
    const second = find(downloads(limits));
    await vi.waitFor(
      () => expect(reports).toContain('another process is fetching the programs, waiting for it'),
      90_000,
    );
    first.kill('SIGKILL');
    await second;
    await vi.waitFor(() => expect(inCache()).toEqual([cacheKey]), 90_000);
  });

  it.each([
    { title: 'whose holder vanished without a trace', alive: undefined },
    { title: 'whose holder has been silent for a minute', alive: 60 },
  ])('take over a lock $title', async ({ alive }) => {
    const dead = path.join(home, 'dead');
    if (alive !== undefined) silentFor(dead, alive);
    mkdirSync(cacheRoot(env), { recursive: true });
    symlinkSync(dead, `${cacheFolder(env)}.lock`);
    await find(downloads(limits));
    expect(inCache()).toEqual([cacheKey]);
  });

  function silentFor(folder: string, seconds: number): void {
    const then = Date.now() / 1000 - seconds;
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'alive'), '');
    utimesSync(path.join(folder, 'alive'), then, then);
  }
});
