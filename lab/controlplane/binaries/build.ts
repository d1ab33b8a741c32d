import { chmod, readFile } from 'node:fs/promises';
import path from 'node:path';
import { buildFlags, buildSettings } from '../../go/build-settings.ts';
import { kubernetesVersion, olderKubectlVersion, type ProgramName } from '../versions.ts';
import { withHeartbeat } from './report.ts';
import { messageOf, type Source, type Workplace } from './source.ts';

const heartbeatMs = 15_000;
const logTailLines = 15;
const commandNotFound = 127;
const folderOf = (module: string): string => path.join(import.meta.dirname, '..', module);

const packageOf: Readonly<Record<ProgramName, string>> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'older-kubectl': '.',
};

/** Compiles the programs from the Go modules that build/go.mod pins; build/go.sum holds their digests. */
export const goBuild: Source = async (tools, place) => {
  try {
    for (const [index, tool] of tools.entries()) await build(tool, place, `${index + 1} of ${tools.length}`);
    return [];
  } catch (error) {
    place.report(`cannot build: ${messageOf(error)}`);
    return [`build with Go: ${messageOf(error)}`];
  }
};

async function build(tool: ProgramName, place: Workplace, position: string): Promise<void> {
  const isOlder = tool === 'older-kubectl';
  const duration = isOlder ? 'it takes a minute or two' : 'all four take five to ten minutes';
  place.report(`compiling ${tool}, ${position}; on two cores ${duration} the first time`);
  const compiler = await place.guard.run({
    name: `build-${tool}`,
    command: 'go',
    args: [
      'build',
      '-v',
      ...buildFlags,
      '-ldflags',
      linkerFlags(isOlder ? olderKubectlVersion : kubernetesVersion),
      '-o',
      path.join(place.folder, tool),
      packageOf[tool],
    ],
    cwd: folderOf(isOlder ? 'older-kubectl' : 'build'),
    env: { ...buildSettings, PATH: place.env['PATH'] ?? '' },
    graceSeconds: 2,
  });
  const text = async (): Promise<string> =>
    `compiling ${tool}, ${await linesOf(compiler.logPath)} steps done`;
  const code = await withHeartbeat(place.report, heartbeatMs, text, compiler.exited);
  if (code === commandNotFound) throw new Error('there is no command "go"');
  if (code !== 0) throw new Error(`go build of ${tool} failed:\n${await tailOf(compiler.logPath)}`);
  // The guard's processes make private files; the cache is as open as a download leaves it.
  await chmod(path.join(place.folder, tool), 0o755);
}

/** Sets what `kubectl version` and the API server's /version say; Kubernetes does so at link time only. */
function linkerFlags(kubernetes: string): string {
  const [major = '', minor = ''] = kubernetes.split('.');
  const version = 'k8s.io/component-base/version';
  const values = {
    gitVersion: `v${kubernetes}`,
    gitMajor: major,
    gitMinor: minor,
    gitCommit: 'unknown',
    gitTreeState: 'clean',
  };
  const settings = Object.entries(values).map(([name, value]) => `-X ${version}.${name}=${value}`);
  return ['-s', '-w', ...settings].join(' ');
}

/** Go writes a line for each module that it downloads and each package that it compiles. */
async function linesOf(file: string): Promise<number> {
  return (await readFile(file, 'utf8')).split('\n').length - 1;
}

async function tailOf(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.slice(-logTailLines).join('\n');
}
