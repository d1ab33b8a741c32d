import { type Context, type Invocation, type OptionSpec, textOption } from '../shared/context.ts';
import { Failure, type FailureKind, printable } from '../shared/failure.ts';

/** Locks are made with the credentials of an administrator, which no lock stops, and never with a key of Latchkey. */
export const contextOption = {
  context: {
    type: 'string',
    value: 'CONTEXT',
    about: 'The context of your kubeconfig. Default: the current one.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Runs kubectl and resolves with what it prints. Throws a Failure with what it says. */
export async function kubectl(
  invocation: Invocation,
  context: Pick<Context, 'run'>,
  args: readonly string[],
  input?: string,
): Promise<string> {
  const named = textOption(invocation, 'context');
  const all = [...(named === undefined ? [] : ['--context', named]), ...args, '--request-timeout=15s'];
  const { code, stdout, stderr } = await context.run('kubectl', all, input).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Failure('usage', 'there is no kubectl in your PATH', 'Install it.');
  });
  if (code === 0) return stdout;
  const said = printable(stderr.trim()) || `kubectl ended with ${code}`;
  throw new Failure(kindOf(said), said, fixes[kindOf(said)] ?? fixByText(said));
}

function kindOf(said: string): FailureKind {
  if (said.includes('(Forbidden)') || said.includes('ERR_POLICY_LOCK')) return 'forbidden';
  return said.includes('(NotFound)') ? 'notFound' : 'failure';
}

/** People are often in the context of a virtual cluster, which has no such kind. */
function fixByText(said: string): string {
  if (/no matches for kind|doesn't have a resource type/.test(said))
    return 'This is not the platform, or its release knows no locks: name the context of the platform by --context.';
  if (said.includes('(AlreadyExists)'))
    return 'Take another name: `latchkey locks` shows those that there are.';
  return 'Mend what kubectl says.';
}

const fixes: Readonly<Partial<Record<FailureKind, string>>> = {
  forbidden: 'Have the ClusterRole latchkey-locker bound to you.',
  notFound: '`latchkey locks` lists the locks that there are.',
};
