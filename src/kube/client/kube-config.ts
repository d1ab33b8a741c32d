import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { LatchkeyError } from '../../errors.ts';

/** Where the client takes its credentials from, again and again. */
export interface KubeConfigSource {
  /** The present configuration. With `fresh`, whatever was kept in memory is read again. */
  load(fresh?: boolean): KubeConfig;
}

export interface KubeConfigOptions {
  /** A kubeconfig file. Default: `KUBECONFIG`, then the Pod's ServiceAccount, then `~/.kube/config`. */
  readonly file?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Default `/var/run/secrets/kubernetes.io/serviceaccount`. */
  readonly serviceAccountFolder?: string;
}

/**
 * Our own credentials, not those of others: such a file may name commands and files, so never load one that somebody
 * else may write. Throws `ERR_KUBECONFIG` when there is none.
 */
export function kubeConfigSource(options: KubeConfigOptions = {}): KubeConfigSource {
  const { env = process.env } = options;
  const named = options.file ?? env.KUBECONFIG;
  if (named) return new FileSource(named.split(path.delimiter).filter((file) => file !== ''));
  const folder = options.serviceAccountFolder ?? '/var/run/secrets/kubernetes.io/serviceaccount';
  if (env.KUBERNETES_SERVICE_HOST && existsSync(path.join(folder, 'token')))
    return new ClusterSource(env, folder);
  const home = path.join(homedir(), '.kube', 'config');
  if (existsSync(home)) return new FileSource([home]);
  throw new LatchkeyError('ERR_KUBECONFIG', {
    problem: `KUBECONFIG is not set, and neither ${folder}/token nor ${home} is there`,
  });
}

/** Wraps a configuration that never changes as a whole; the files it names are still read again. */
export function fixedSource(kubeConfig: KubeConfig): KubeConfigSource {
  return { load: () => kubeConfig };
}

class FileSource implements KubeConfigSource {
  readonly #files: readonly string[];
  #loaded: { readonly stamp: string; readonly kubeConfig: KubeConfig } | undefined;

  constructor(files: readonly string[]) {
    this.#files = files;
  }

  load(fresh = false): KubeConfig {
    try {
      const stamp = this.#files.map(stampOf).join();
      if (this.#loaded === undefined || fresh || stamp !== this.#loaded.stamp) {
        this.#loaded = { stamp, kubeConfig: readFiles(this.#files) };
      }
      return this.#loaded.kubeConfig;
    } catch (error) {
      throw new LatchkeyError('ERR_KUBECONFIG', { problem: problemOf(error, this.#files) });
    }
  }
}

class ClusterSource implements KubeConfigSource {
  readonly #env: NodeJS.ProcessEnv;
  readonly #folder: string;
  #loaded: KubeConfig | undefined;

  constructor(env: NodeJS.ProcessEnv, folder: string) {
    this.#env = env;
    this.#folder = folder;
  }

  load(fresh = false): KubeConfig {
    if (this.#loaded === undefined || fresh) this.#loaded = this.#read();
    return this.#loaded;
  }

  #read(): KubeConfig {
    const host = this.#env.KUBERNETES_SERVICE_HOST ?? '';
    const port = this.#env.KUBERNETES_SERVICE_PORT ?? '443';
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromClusterAndUser(
      {
        name: 'in-cluster',
        server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
        caFile: path.join(this.#folder, 'ca.crt'),
        skipTLSVerify: false,
      },
      { name: 'service-account', authProvider: tokenFileProvider(path.join(this.#folder, 'token')) },
    );
    return kubeConfig;
  }
}

function readFiles(files: readonly string[]): KubeConfig {
  const [first, ...rest] = files.map(readFile);
  if (first === undefined) throw new TypeError('no kubeconfig file was named');
  for (const other of rest) first.mergeConfig(other, true);
  return first;
}

function readFile(file: string): KubeConfig {
  const text = readFileSync(file, 'utf8');
  const folder = path.dirname(path.resolve(file));
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(text);
  kubeConfig.makePathsAbsolute(folder);
  kubeConfig.users = withTokenFiles(kubeConfig.users, text, folder);
  return kubeConfig;
}

/** client-node 2.0.1 overlooks `tokenFile`, which kubectl honours. */
function withTokenFiles(users: KubeConfig['users'], text: string, folder: string): KubeConfig['users'] {
  const document = parse(text) as {
    users?: readonly { name?: string; user?: { tokenFile?: string } }[];
  } | null;
  return users.map((user) => {
    const tokenFile = document?.users?.find(({ name }) => name === user.name)?.user?.tokenFile;
    if (typeof tokenFile !== 'string' || tokenFile === '') return user;
    const { token: _, ...rest } = user;
    return { ...rest, authProvider: tokenFileProvider(path.resolve(folder, tokenFile)) };
  });
}

function tokenFileProvider(tokenFile: string): object {
  return { name: 'tokenFile', config: { tokenFile } };
}

/** A YAML error quotes the line where it stumbled, which may hold a token: such text stays out. */
function problemOf(error: unknown, files: readonly string[]): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return `${files.join(path.delimiter)} ${code === 'ENOENT' ? 'is not there' : code ? `cannot be read (${code})` : 'is not a valid kubeconfig'}`;
}

function stampOf(file: string): string {
  const { mtimeMs, size, ino } = statSync(file);
  return `${mtimeMs}:${size}:${ino}`;
}
