import { execFile } from 'node:child_process';
import path from 'node:path';
import { buildGoProgram } from '../../lab/go/build-program.ts';
import { buildTimeoutMs } from './helm.ts';

/** Clients that are libraries, in one program: main.go says what it does. */
export class LibraryClients {
  readonly #program: string;

  /** Builds it into `folder`. @throws Error where there is no `go`. */
  static async build(folder: string): Promise<LibraryClients> {
    const program = path.join(folder, 'clients');
    const hasGo = await buildGoProgram(import.meta.dirname, program, { timeoutMs: buildTimeoutMs });
    if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
    return new LibraryClients(program);
  }

  private constructor(program: string) {
    this.#program = program;
  }

  /** The lines that it prints. @throws Error with what it said when it fails. */
  async run(args: readonly string[], input = ''): Promise<readonly string[]> {
    return await new Promise((resolve, reject) => {
      const child = execFile(this.#program, args, { timeout: 240_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout.trimEnd().split('\n'));
        else reject(new Error(`clients ${args[0]}: ${stdout} ${stderr}`));
      });
      child.stdin?.end(input);
    });
  }
}
