/** The environment of a command, so that tests need no process, terminal or network. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The process that runs this one. */
  readonly ppid: number;
  readonly stdin: { readonly isTTY: boolean; readonly read: () => Promise<string> };
  readonly stdout: { readonly isTTY: boolean; readonly write: (text: string) => void };
  readonly stderr: { readonly isTTY: boolean; readonly write: (text: string) => void };
  readonly now: () => number;
  readonly send: (request: SentRequest) => Promise<Answer>;
  /** Runs another program to its end. Rejects where there is none of that name. */
  readonly run: (program: string, args: readonly string[], input?: string) => Promise<ProgramResult>;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** PEM. Absent: the authorities that Node and this system trust. */
  readonly ca?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: true;
  /** The placeholder of its value. */
  readonly value?: string;
  readonly about: string;
}

interface ArgumentSpec {
  readonly name: string;
  readonly about: string;
  readonly isOptional?: true;
  /** Takes all that follow. */
  readonly isRest?: true;
}

interface Example {
  readonly about: string;
  readonly command: string;
}

export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  /** Sentences that people must know before they use it. */
  readonly details: readonly string[];
  readonly arguments: readonly ArgumentSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  readonly examples: readonly [Example, Example];
  readonly run: Run;
}

export type OptionValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Invocation {
  readonly positionals: readonly string[];
  readonly options: OptionValues;
}

/** Throws a Failure. Resolves with the exit code, where it is another than 0. */
export type Run = (invocation: Invocation, context: Context) => Promise<number | undefined>;

export const textOption = ({ options }: Invocation, name: string): string | undefined => {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
};

export const listOption = ({ options }: Invocation, name: string): readonly string[] => {
  const value = options[name];
  return Array.isArray(value) ? value : [];
};

export const isOn = ({ options }: Invocation, name: string): boolean => options[name] === true;
