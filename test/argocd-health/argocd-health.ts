import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { buildGoProgram } from '../../lab/go/build-program.ts';
import { configFolder } from '../../lab/operator/kustomization.ts';

export interface HealthStatus {
  readonly status: 'Healthy' | 'Suspended' | 'Progressing' | 'Missing' | 'Degraded' | 'Unknown';
  readonly message?: string;
}

export interface Judgement {
  /** The verdict of Argo CD on the object. */
  readonly health?: HealthStatus;
  /** The verdict of Flux and other tools that follow kstatus. */
  readonly kstatus?: 'InProgress' | 'Failed' | 'Current' | 'Terminating';
  /** Why the script could not be run. */
  readonly error?: string;
}

export interface Question {
  /** Text of a health.lua. */
  readonly script: string;
  readonly object: object;
}

/** The folder that holds one folder for each kind, as in the repository of Argo CD. */
export const customizations = path.join(
  configFolder,
  'argocd/resource_customizations/management.platform.sh',
);

/** A program that runs health.lua in the Lua of Argo CD, and the rules of kstatus as Flux has them. */
export class HealthJudge {
  readonly #program: string;

  /** Builds it into `folder`. @throws Error where there is no `go`: nothing else runs these scripts as Argo CD does. */
  static async build(folder: string): Promise<HealthJudge> {
    const program = path.join(folder, 'argocd-health');
    const hasGo = await buildGoProgram(import.meta.dirname, program);
    if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
    return new HealthJudge(program);
  }

  private constructor(program: string) {
    this.#program = program;
  }

  async judge(questions: readonly Question[]): Promise<readonly Judgement[]> {
    const output = await new Promise<string>((resolve, reject) => {
      const child = execFile(
        this.#program,
        { timeout: 240_000, maxBuffer: 2 ** 24 },
        (error, stdout, stderr) => {
          if (error === null) resolve(stdout);
          else reject(new Error(`${error.message} ${stderr}`));
        },
      );
      child.stdin?.end(JSON.stringify(questions));
    });
    return JSON.parse(output);
  }

  /** Runs the script of its kind on an object of ours. */
  async of(object: { readonly kind: string }): Promise<Judgement> {
    const [judgement = {}] = await this.judge([{ script: scriptOf(object.kind), object }]);
    return judgement;
  }
}

export const scriptOf = (kind: string): string =>
  readFileSync(path.join(customizations, kind, 'health.lua'), 'utf8');
