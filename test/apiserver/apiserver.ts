import { execFile } from 'node:child_process';
import path from 'node:path';
import { buildGoProgram } from '../../lab/go/build-program.ts';

/** Path, whether it names a resource, verb, group, version, namespace, resource, subresource, name. */
export type RequestInfo = readonly [string, boolean, ...string[]];

export interface Failure {
  readonly error: string;
}

/** A program that reads requests, reviews and YAML with the code of the API server. */
export class ApiServerOriginal {
  readonly #program: string;

  /** Builds it into `folder`. @throws Error where there is no `go`. */
  static async build(folder: string): Promise<ApiServerOriginal> {
    const program = path.join(folder, 'apiserver');
    const hasGo = await buildGoProgram(import.meta.dirname, program);
    if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
    return new ApiServerOriginal(program);
  }

  private constructor(program: string) {
    this.#program = program;
  }

  /** Each line is a method, a space and a target. */
  async requestInfos(lines: readonly string[]): Promise<readonly (RequestInfo | Failure)[]> {
    return await this.#run('requests', lines);
  }

  /** Each line is a SelfSubjectAccessReview in JSON; each answer the bytes of protobuf in base64. */
  async encode(lines: readonly string[]): Promise<readonly (string | Failure)[]> {
    return await this.#run('encode', lines);
  }

  /** The way back, to the spec of the review. */
  async decode(lines: readonly string[]): Promise<readonly (object | Failure)[]> {
    return await this.#run('decode', lines);
  }

  /** Reads texts of YAML, as text of JSON. */
  async readYAML(texts: readonly Buffer[]): Promise<readonly ({ readonly json: string } | Failure)[]> {
    return await this.#run(
      'yaml',
      texts.map((text) => text.toString('base64')),
    );
  }

  async #run<T>(mode: string, lines: readonly string[]): Promise<readonly T[]> {
    if (lines.length === 0) return [];
    const output = await new Promise<string>((resolve, reject) => {
      const child = execFile(
        this.#program,
        [mode],
        { timeout: 300_000, maxBuffer: 2 ** 29 },
        (error, stdout, stderr) => {
          if (error === null) resolve(stdout);
          else reject(new Error(`${error.message} ${stderr}`));
        },
      );
      child.stdin?.end(`${lines.join('\n')}\n`);
    });
    return output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as T);
  }
}
