import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import type { ClientIdentity } from './client-identity.ts';
import { readIdentity, unusable } from './kube-config-identity.ts';

/** Kubeconfig files, merged as kubectl does. Loaded by name only: client-node costs some 80 MB of memory. */
export class KubeConfigFiles {
  readonly #files: readonly string[];
  #loaded: { readonly stamp: string; readonly kubeConfig: KubeConfig } | undefined;

  constructor(files: readonly string[]) {
    this.#files = files;
  }

  async load(fresh = false): Promise<ClientIdentity> {
    return await readIdentity(this.read(fresh));
  }

  /** Files that have not changed are not read again, unless `fresh` asks for it. Throws `ERR_KUBECONFIG`. */
  read(fresh = false): KubeConfig {
    try {
      const stamp = this.#files.map(stampOf).join();
      if (this.#loaded === undefined || fresh || stamp !== this.#loaded.stamp) {
        this.#loaded = { stamp, kubeConfig: readFiles(this.#files) };
      }
      return this.#loaded.kubeConfig;
    } catch (error) {
      throw unusable(describe(error, this.#files));
    }
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
    const config = { tokenFile: path.resolve(folder, tokenFile) };
    return { ...rest, authProvider: { name: 'tokenFile', config } };
  });
}

/** A YAML error quotes the line where it stumbled, which may hold a token: such text stays out. */
function describe(error: unknown, files: readonly string[]): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return `${files.join(path.delimiter)} ${code === 'ENOENT' ? 'is not there' : code ? `cannot be read (${code})` : 'is not a valid kubeconfig'}`;
}

function stampOf(file: string): string {
  const { mtimeMs, size, ino } = statSync(file);
  return `${mtimeMs}:${size}:${ino}`;
}
