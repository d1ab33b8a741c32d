import { etcdVersion, kubernetesVersion, olderKubectlVersion, type ProgramName } from '../versions.ts';
import type { Environment } from './find.ts';

/** Where a program is published, and how its digest is. */
export interface Release {
  readonly url: string;
  /** A file that holds the SHA-256 of `url`: alone, or in lines of digest and file name. */
  readonly digestUrl: string;
  /** Path inside the archive; undefined when the download is the program itself. */
  readonly memberOfArchive?: string;
}

const defaultKubernetesBase = 'https://dl.k8s.io/release';
const defaultEtcdBase = 'https://github.com/etcd-io/etcd/releases/download';

/** @throws Error when a base address is not one that we would download programs from. */
export function releaseOf(program: ProgramName, env: Environment): Release {
  if (program === 'etcd') return etcdRelease(env);
  if (program === 'older-kubectl') return kubernetesRelease('kubectl', olderKubectlVersion, env);
  return kubernetesRelease(program, kubernetesVersion, env);
}

function kubernetesRelease(name: string, version: string, env: Environment): Release {
  const base = baseAddress(env, 'CONTROLPLANE_KUBERNETES_DOWNLOADS', defaultKubernetesBase);
  const url = `${base}/v${version}/bin/${process.platform}/${goArchitecture()}/${name}`;
  return { url, digestUrl: `${url}.sha256` };
}

function etcdRelease(env: Environment): Release {
  const base = baseAddress(env, 'CONTROLPLANE_ETCD_DOWNLOADS', defaultEtcdBase);
  const name = `etcd-v${etcdVersion}-${process.platform}-${goArchitecture()}`;
  const suffix = process.platform === 'linux' ? 'tar.gz' : 'zip';
  return {
    url: `${base}/v${etcdVersion}/${name}.${suffix}`,
    digestUrl: `${base}/v${etcdVersion}/SHA256SUMS`,
    memberOfArchive: `${name}/etcd`,
  };
}

function goArchitecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}

/** The digests come from the same server, so the connection is what vouches for it: only loopback may do without TLS. */
function baseAddress(env: Environment, variable: string, standard: string): string {
  const base = new URL(env[variable] ?? standard);
  const isLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(base.hostname);
  if (base.protocol !== 'https:' && !(base.protocol === 'http:' && isLoopback)) {
    throw new Error(`${variable} must be an https address`);
  }
  return base.href.replace(/\/$/, '');
}
