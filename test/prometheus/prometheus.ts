import { execFile } from 'node:child_process';
import path from 'node:path';
import { buildGoProgram } from '../../lab/go/build-program.ts';

/** The first time it compiles much of Prometheus: two minutes of two idle cores. */
const maxBuildMs = 900_000;

/** Something that Prometheus scrapes. */
export interface Target {
  /** Labels that Prometheus adds to each series. */
  readonly labels: Readonly<Record<string, string>>;
  /** The answers to one scrape after the other. The last one stands for all that follow, for two hours. */
  readonly scrapes: readonly string[];
}

/** The differences from the recording. */
export interface Scenario {
  /** Targets that are not there. */
  readonly gone?: readonly string[];
  /** Series by target, each as promtool writes it: `name{label="value"} 0 1 2+3x4`, every 30 seconds. The last value stays. */
  readonly series?: Readonly<Record<string, readonly string[]>>;
}

export interface Input {
  /** A file of rules, as YAML. */
  readonly rules: string;
  /** When the first scrapes were taken, seconds of the Unix epoch. */
  readonly start: number;
  readonly targets: Readonly<Record<string, Target>>;
  readonly scenarios: readonly Scenario[];
}

export interface Firing {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Verdict {
  /** Faults of the rules, whatever the scenario. */
  readonly problems: readonly string[];
  /** The alerts that fire in each scenario. */
  readonly firing: readonly (readonly Firing[])[];
}

/** A program that reads and evaluates rules with the code of Prometheus, and has the definitions of the Prometheus operator. */
export class Prometheus {
  readonly #program: string;

  /** Builds it into `folder`. @throws Error where there is no `go`: nothing else judges alerts as Prometheus does. */
  static async build(folder: string): Promise<Prometheus> {
    const program = path.join(folder, 'prometheus');
    const hasGo = await buildGoProgram(import.meta.dirname, program, { timeoutMs: maxBuildMs });
    if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
    return new Prometheus(program);
  }

  private constructor(program: string) {
    this.#program = program;
  }

  async judge(input: Input): Promise<Verdict> {
    return JSON.parse(await this.#run([], JSON.stringify(input)));
  }

  /** All custom resource definitions of the Prometheus operator, as YAML. */
  async definitions(): Promise<string> {
    return await this.#run(['definitions'], '');
  }

  #run(args: readonly string[], input: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { timeout: 240_000, maxBuffer: 2 ** 26 };
      const child = execFile(this.#program, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${error.message} ${stderr}`));
      });
      child.stdin?.end(input);
    });
  }
}
