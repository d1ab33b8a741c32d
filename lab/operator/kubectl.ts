import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll } from 'vitest';
import { stringify } from 'yaml';
import type { KubectlOptions, KubectlResult } from '../controlplane/kubectl.ts';
import type { Stored, Target } from './api.ts';
import { until } from './until.ts';
import type { World } from './world.ts';

/** An object as a file has it that is applied. */
export interface Applied {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: unknown;
}

type RunOptions = Omit<KubectlOptions, 'kubeconfig'>;

/** The real kubectl in the hands of one user. After the tests of the file it deletes what it was given. */
export class Kubectl {
  readonly #world: World;
  readonly #kubeconfig: string;
  readonly #program: string;
  readonly #made = new Map<string, Target>();

  /** Call it at the top of a file. `program`: another kubectl than that of the control plane. */
  constructor(world: World, kubeconfig: string, program = world.plane.binaries.kubectl) {
    this.#world = world;
    this.#kubeconfig = kubeconfig;
    this.#program = program;
    afterAll(async () => await this.#clear());
  }

  /** Runs a command that may fail. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<KubectlResult> {
    const places = { kubeconfig: this.#kubeconfig, program: this.#program };
    return await this.#world.plane.kubectl(args, { ...options, ...places });
  }

  /** Runs a command and resolves with its output. @throws Error with what kubectl said when it fails. */
  async ok(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { stdout, stderr, exitCode } = await this.run(args, options);
    if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** Runs a verb such as `apply` or `replace` with manifests on its standard input. */
  async send(verb: string, manifests: Applied | readonly Applied[], ...flags: string[]): Promise<string> {
    return await this.ok([verb, '-f', '-', ...flags], { input: this.#input(manifests) });
  }

  /** The same where it may fail. */
  async trySend(
    verb: string,
    manifests: Applied | readonly Applied[],
    ...flags: string[]
  ): Promise<KubectlResult> {
    return await this.run([verb, '-f', '-', ...flags], { input: this.#input(manifests) });
  }

  /** The object as `kubectl get -o json` shows it, managed fields included. */
  async get(target: Target): Promise<Stored> {
    return JSON.parse(await this.ok(['get', ...placeOf(target), '-o', 'json', '--show-managed-fields']));
  }

  /** Returns what `kubectl diff` would change; empty when nothing. @throws Error when it cannot tell. */
  async diff(manifests: Applied | readonly Applied[], ...flags: string[]): Promise<string> {
    const { stdout, stderr, exitCode } = await this.trySend('diff', manifests, ...flags);
    if (exitCode > 1) throw new Error(`kubectl diff: ${stderr}`);
    return stdout;
  }

  /** Begins a command that goes on by itself, such as `get --watch`. */
  async begin(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Watching> {
    const { plane, guard, name } = this.#world;
    const { pid, logPath, exited } = await guard.run({
      name: name('kubectl'),
      command: this.#program,
      args,
      env: { ...env, KUBECONFIG: this.#kubeconfig, KUBECACHEDIR: path.join(plane.folder, 'kubectl-cache') },
    });
    const end = async () => {
      process.kill(pid);
      await exited;
    };
    const watching = new Watching(logPath, end);
    void exited.then(() => {
      watching.hasExited = true;
    });
    return watching;
  }

  /** Deletes the object after the tests of the file. */
  track(target: Target): void {
    this.#made.set(placeOf(target).join(' '), target);
  }

  #input(manifests: Applied | readonly Applied[]): string {
    const all = [manifests].flat() as Applied[];
    for (const manifest of all) this.track(manifest);
    return all.map((manifest) => stringify(manifest)).join('---\n');
  }

  async #clear(): Promise<void> {
    const byNamespace = Map.groupBy(this.#made.values(), ({ metadata }) => metadata.namespace);
    this.#made.clear();
    for (const [namespace, targets] of byNamespace) {
      const place = namespace === undefined ? [] : ['--namespace', namespace];
      const names = targets.map(({ kind = '', metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
      await this.ok(['delete', '--ignore-not-found', '--timeout=120s', ...place, ...names]);
    }
  }
}

/** A kubectl that runs beside the test. */
export class Watching {
  readonly #logPath: string;
  readonly #end: () => Promise<void>;
  /** Whether the process has ended, by itself or not. */
  hasExited = false;

  constructor(logPath: string, end: () => Promise<void>) {
    this.#logPath = logPath;
    this.#end = end;
  }

  /** Reads the output so far. */
  async lines(): Promise<readonly string[]> {
    return (await readFile(this.#logPath, 'utf8')).trimEnd().split('\n');
  }

  async until(what: string, holds: (lines: readonly string[]) => boolean): Promise<readonly string[]> {
    let seen: readonly string[] = [];
    const look = async () => {
      seen = await this.lines();
      return holds(seen) ? seen : undefined;
    };
    return await until(what, look, { seen: () => seen });
  }

  async end(): Promise<void> {
    await this.#end();
  }
}

/** The real kubectl of an ordinary user, who has the rights that `World.user` names. */
export async function kubectlOf(world: World, user: string): Promise<Kubectl> {
  return new Kubectl(world, (await world.user(user)).kubeconfig);
}

export const placeOf = ({ kind = '', metadata: { name, namespace } }: Target): readonly string[] => [
  `${kind.toLowerCase()}/${name}`,
  ...(namespace === undefined ? [] : ['--namespace', namespace]),
];

/** The first row of a table that kubectl printed, by heading. */
export function firstRowOf(table: string): Readonly<Record<string, string>> {
  const [headings = '', values = ''] = table.split('\n');
  const starts = [...headings.matchAll(/(?<=^| {3})\S/g)].map(({ index }) => index);
  const cut = (line: string): string[] => starts.map((at, i) => line.slice(at, starts[i + 1]).trim());
  return Object.fromEntries(cut(headings).map((heading, i) => [heading, cut(values)[i] ?? '']));
}

/**
 * Selects one object by a list, for `get --watch`. Of an object by its name kubectl drops the first event, for it has shown the object
 * already: a change before the watch begins is never shown.
 */
export const onlyNamed = (name: string): readonly string[] => ['--field-selector', `metadata.name=${name}`];
