export const usage = `Usage: npm run demo [-- --once]
  Starts a Kubernetes control plane, another one that plays a virtual cluster, and Latchkey on this machine, applies
  config/samples, shows what became of them, goes through the gateway with curl and kubectl, and makes credentials by POST.
  It stays until Ctrl-C. With --once it ends by itself: exit code 0 when everything got ready.`;

export type Arguments = { readonly once: boolean; readonly help: boolean } | { readonly problem: string };

export function readArguments(args: readonly string[]): Arguments {
  const known = ['--once', '--help'];
  const unknown = args.find((argument) => !known.includes(argument));
  if (unknown !== undefined) return { problem: `unknown argument "${unknown}"` };
  return { once: args.includes('--once'), help: args.includes('--help') };
}
