/** The meaning of each exit code. Documented in docs/reference/command-line.md. */
export const exitCodes = {
  success: { code: 0, about: 'It is done.' },
  failure: { code: 1, about: 'It failed, or the answer to the question is no.' },
  usage: { code: 2, about: 'The command line cannot be read, or misses something.' },
  unauthenticated: { code: 3, about: 'There is no key, or the gateway does not accept it.' },
  forbidden: { code: 4, about: 'The key, or its user, may not do that.' },
  notFound: { code: 5, about: 'The object is not there, or is not yours.' },
  unavailable: { code: 6, about: 'No answer came: network, certificate, or a gateway that is away.' },
} as const;

export type FailureKind = Exclude<keyof typeof exitCodes, 'success'>;

/** An end of a command that people read: one sentence that says what is wrong, and one that says what to do. Holds no secret. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly fix: string;

  constructor(kind: FailureKind, message: string, fix: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.fix = fix;
  }
}

export const usage = (message: string, fix: string): Failure => new Failure('usage', message, fix);

/** Characters that could move the cursor, or colour or turn the rest of a terminal. A line may end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to find.
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text without them: it comes from other people's objects. */
export const printable = (text: string): string => text.replaceAll(controls, '?');

/** A text of JSON that says the same without them: readers of JSON and YAML know these escapes, and JSON leaves some characters bare. */
export const escaped = (json: string): string =>
  json.replaceAll(controls, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
