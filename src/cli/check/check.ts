import { parseJSON } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';

/** One line of the preflight. */
export interface Finding {
  readonly subject: string;
  /** `unknown`: it could not be asked. */
  readonly state: 'ok' | 'failed' | 'unknown';
  readonly detail: string;
  /** The way out. Empty where all is well. */
  readonly fix: string;
}

export const ok = (subject: string, detail: string): Finding => ({ subject, state: 'ok', detail, fix: '' });
export const failed = (subject: string, detail: string, fix: string): Finding => ({
  subject,
  state: 'failed',
  detail,
  fix,
});
export const unknown = (subject: string, detail: string, fix: string): Finding => ({
  subject,
  state: 'unknown',
  detail,
  fix,
});

/** Asks the API server of the platform by kubectl, which knows how to log in there. */
export class Kubectl {
  readonly #context: Pick<Context, 'run'>;
  readonly #args: readonly string[];

  constructor(context: Pick<Context, 'run'>, args: readonly string[]) {
    this.#context = context;
    this.#args = args;
  }

  /** Undefined where it fails. Rejects where there is no kubectl. */
  async json(args: readonly string[], input?: string): Promise<unknown> {
    const { code, stdout } = await this.#context.run(
      'kubectl',
      [...this.#args, ...args, '--request-timeout=15s'],
      input,
    );
    if (code !== 0) return undefined;
    try {
      return JSON.parse(stdout);
    } catch {
      return undefined;
    }
  }

  /** The same for a command that prints several objects, one after the other. */
  async objects(args: readonly string[], input: string): Promise<readonly unknown[]> {
    const all = [...this.#args, ...args, '--request-timeout=15s'];
    const { code, stdout } = await this.#context.run('kubectl', all, input);
    if (code !== 0) return [];
    return stdout.split(/(?<=^\})\s*(?=\{)/m).map(parseJSON);
  }
}
