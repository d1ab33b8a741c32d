import { type CatalogueEntry, errorCatalogue, exitCodes } from './error-catalogue.ts';

export type ErrorCode = keyof typeof errorCatalogue;

/** The codes that end an HTTP request. */
export type HTTPErrorCode = {
  [Code in ErrorCode]: (typeof errorCatalogue)[Code] extends { readonly httpStatus: number } ? Code : never;
}[ErrorCode];

type Placeholders<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** The values that the message of a code needs. */
export type ErrorValues<Code extends ErrorCode> = Readonly<
  Record<Placeholders<(typeof errorCatalogue)[Code]['message']>, string | number>
>;

/** The catalogue's message of a code with its values filled in. */
export function errorMessage<Code extends ErrorCode>(code: Code, values: ErrorValues<Code>): string {
  const given: Readonly<Record<string, string | number>> = values;
  return errorCatalogue[code].message.replace(/\{(\w+)\}/g, (_, name: string) => String(given[name]));
}

/** An error that Latchkey raises on purpose. `code` is stable, the message is for people. */
export class LatchkeyError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'LatchkeyError';
  readonly code: Code;

  constructor(code: Code, values: ErrorValues<Code>, options?: ErrorOptions) {
    super(errorMessage(code, values), options);
    this.code = code;
  }
}

/** The exit code that an error ends the process with; anything unknown is a failure. */
export function exitCodeOf(error: unknown): number {
  return descriptionOf(error)?.exitCode ?? exitCodes.failure;
}

/** The advice that belongs to an error of the catalogue. */
export function fixOf(error: unknown): string | undefined {
  return descriptionOf(error)?.fix;
}

function descriptionOf(error: unknown): CatalogueEntry | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const catalogue: Readonly<Record<string, CatalogueEntry>> = errorCatalogue;
  return Object.hasOwn(catalogue, String(error.code)) ? catalogue[String(error.code)] : undefined;
}
