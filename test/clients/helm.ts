import { execFile } from 'node:child_process';
import path from 'node:path';
import { buildGoProgram } from '../../lab/go/build-program.ts';

/** Both of them are in use. */
export type HelmVersion = 'v3' | 'v4';

export interface HelmResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** They stand on most of Kubernetes' libraries. */
export const buildTimeoutMs = 900_000;
/** A chart of a few objects takes two seconds, and ten times as long on a busy machine. */
const runTimeoutMs = 120_000;

/** The real Helm. */
export class Helm {
  readonly #program: string;
  readonly #folder: string;

  /** Builds it into `folder`. @throws Error where there is no `go`. */
  static async build(version: HelmVersion, folder: string): Promise<Helm> {
    const program = path.join(folder, `helm-${version}`);
    const options = { package: `helm.sh/helm/${version}/cmd/helm`, timeoutMs: buildTimeoutMs };
    const hasGo = await buildGoProgram(import.meta.dirname, program, options);
    if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
    return new Helm(program, path.join(folder, `helm-${version}-home`));
  }

  private constructor(program: string, folder: string) {
    this.#program = program;
    this.#folder = folder;
  }

  /** Runs a command with a kubeconfig. A failing command is a result, not an error. */
  async run(kubeconfig: string, args: readonly string[]): Promise<HelmResult> {
    const home = ['CACHE', 'CONFIG', 'DATA'].map((what) => [`HELM_${what}_HOME`, this.#folder]);
    const env = {
      ...process.env,
      ...Object.fromEntries(home),
      KUBECACHEDIR: this.#folder,
      KUBECONFIG: kubeconfig,
    };
    return await new Promise((resolve, reject) => {
      const options = { env, timeout: runTimeoutMs, maxBuffer: 2 ** 26 };
      execFile(this.#program, args, options, (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : error.code;
        if (typeof exitCode === 'number') resolve({ stdout, stderr, exitCode });
        else reject(error);
      });
    });
  }

  /** Resolves with what it printed. @throws Error with what it said when it fails. */
  async ok(kubeconfig: string, args: readonly string[]): Promise<string> {
    return (await this.#succeed(kubeconfig, args)).stdout;
  }

  /** Like {@link ok}. @throws Error also where the API server warned of an object. */
  async okWithoutWarning(kubeconfig: string, args: readonly string[]): Promise<string> {
    const { stdout, stderr } = await this.#succeed(kubeconfig, args);
    if (fromAPIServer.test(stderr)) throw new Error(`helm ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async #succeed(kubeconfig: string, args: readonly string[]): Promise<HelmResult> {
    const result = await this.run(kubeconfig, args);
    if (result.exitCode !== 0) throw new Error(`helm ${args.join(' ')}: ${result.stderr}`);
    return result;
  }
}

/** As client-go writes a warning of the API server to standard error. Helm has warnings of its own, which look otherwise. */
const fromAPIServer = /warnings\.go:\d+\]/;
