/** The options from the arguments, or the text in place of them. */
type CommandLine<Options> =
  | { readonly options: Options }
  | { readonly text: string; readonly exitCode: number };

/** `parse` throws what is wrong with the arguments. */
export function readCommandLine<Options>(
  args: readonly string[],
  usage: string,
  parse: (args: readonly string[]) => Options,
): CommandLine<Options> {
  if (args.includes('--help')) return { text: usage, exitCode: 0 };
  try {
    return { options: parse(args) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { text: `${error.message}\n\n${usage}`, exitCode: 1 };
  }
}

/** Runs what the arguments of this process ask for. */
export async function runCommandLine<Options>(
  usage: string,
  parse: (args: readonly string[]) => Options,
  run: (options: Options) => Promise<void>,
): Promise<void> {
  const read = readCommandLine(process.argv.slice(2), usage, parse);
  if ('options' in read) return await run(read.options);
  console.error(read.text);
  process.exitCode = read.exitCode;
}
