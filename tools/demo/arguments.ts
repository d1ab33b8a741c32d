export const usage = `Usage: npm run demo [-- --once] [--verbose]
  Starts a Kubernetes control plane, another one that plays a virtual cluster, and Latchkey on this machine, and applies
  config/samples. An ordinary user makes a key, uses it, sees a renewal, and loses the key again, beside an administrator.
  It stays until Ctrl-C. With --once it ends by itself: exit code 0 when everything got ready. With --verbose it says what it
  does, shows what became of the samples, goes through the gateway with curl and kubectl, and makes credentials by POST.`;

export type Arguments =
  | { readonly once: boolean; readonly verbose: boolean; readonly help: boolean }
  | { readonly problem: string };

/** `npm run demo --once` without the two hyphens between: npm takes the flag for one of its own, and only says so here. */
const swallowed = 'npm_config_once';

export function readArguments(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Arguments {
  const known = ['--once', '--verbose', '--help'];
  const unknown = args.find((argument) => !known.includes(argument));
  if (unknown !== undefined) return { problem: `unknown argument "${unknown}"` };
  return {
    once: args.includes('--once') || env[swallowed] === 'true',
    verbose: args.includes('--verbose'),
    help: args.includes('--help'),
  };
}
