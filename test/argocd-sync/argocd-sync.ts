import { execFile } from 'node:child_process';
import path from 'node:path';
import { buildGoProgram } from '../../lab/go/build-program.ts';
import type { Applied } from '../../lab/operator/kubectl.ts';
import { scriptOf } from '../argocd-health/argocd-health.ts';

export interface Operation {
  readonly manifests: readonly Applied[];
  /** Manifests of an earlier commit: those that this one has not are pruned. */
  readonly earlier?: readonly Applied[];
  /** The option `Replace=true`. */
  readonly replace?: boolean;
  /** How long an operation that does not end is waited for. Default: 180, which nothing is judged by. */
  readonly patienceSeconds?: number;
  /** Whether it is terminated then, as `argocd app terminate-op` does. */
  readonly terminate?: boolean;
  /** True: the Application of these manifests is deleted, in place of a sync. */
  readonly cascade?: boolean;
}

export interface Outcome {
  readonly phase: 'Running' | 'Succeeded' | 'Failed' | 'Error';
  readonly message: string;
  readonly results: readonly {
    readonly kind: string;
    readonly name: string;
    readonly status: string;
    readonly message: string;
    /** Empty where Argo CD has no check for the kind. */
    readonly health: string;
  }[];
}

/** A program that syncs with the engine of Argo CD, and judges by the health.lua that we ship. */
export class SyncEngine {
  readonly #program: string;
  readonly #kubeconfig: string;

  /** Builds it into `folder`; it acts with the kubeconfig. @throws Error where there is no `go`. */
  static async build(folder: string, kubeconfig: string): Promise<SyncEngine> {
    const program = path.join(folder, 'argocd-sync');
    const hasGo = await buildGoProgram(import.meta.dirname, program, { timeoutMs: buildTimeoutMs });
    if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
    return new SyncEngine(program, kubeconfig);
  }

  private constructor(program: string, kubeconfig: string) {
    this.#program = program;
    this.#kubeconfig = kubeconfig;
  }

  /** One operation, from the click on Sync to its end, or as far as it comes. */
  async operate({ patienceSeconds = 180, ...operation }: Operation): Promise<Outcome> {
    const order = { kubeconfig: this.#kubeconfig, scripts: allScripts(), patienceSeconds, ...operation };
    const output = await new Promise<string>((resolve, reject) => {
      const timeout = (patienceSeconds + 60) * 1_000;
      const child = execFile(this.#program, { timeout, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${error.message} ${stderr}`));
      });
      child.stdin?.end(JSON.stringify(order));
    });
    return JSON.parse(output);
  }
}

/** The engine stands on kubectl and the whole of Kubernetes' types. */
export const buildTimeoutMs = 900_000;

const kinds = [
  'Cluster',
  'CredentialLock',
  'DirectClusterEndpointToken',
  'OwnedAccessKey',
  'SpaceInstance',
  'VirtualClusterInstance',
  'VirtualClusterInstanceKubeConfig',
];

const allScripts = () => Object.fromEntries(kinds.map((kind) => [kind, scriptOf(kind)]));
