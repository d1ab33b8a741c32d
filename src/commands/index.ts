import { LatchkeyError } from '../errors.ts';
import type { Command } from './command.ts';

interface CommandEntry {
  readonly summary: string;
  /** Loaded only when it runs: the operator's libraries would slow down every other command. */
  readonly load: () => Promise<{ readonly run: Command }>;
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  operator: {
    summary: 'Reconciles the credential objects of a Kubernetes API server',
    load: () => import('./operator.ts'),
  },
  gateway: {
    summary: 'Serves clients who hold a credential, and passes on what its scope allows',
    load: () => import('./gateway.ts'),
  },
  'direct-endpoint': {
    summary: 'Serves clients in a connected cluster, with what the platform streams to it',
    load: () => import('./direct-endpoint.ts'),
  },
  'direct-endpoint print-config': {
    summary:
      'Prints a file for an API server that asks the direct endpoint: authentication, authorization or kubeconfig',
    load: () => import('./print-config.ts'),
  },
  version: { summary: 'Prints the version', load: () => import('./version.ts') },
};

/** Throws ERR_COMMAND_UNKNOWN. */
export async function loadCommand(name: string): Promise<Command> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    throw new LatchkeyError('ERR_COMMAND_UNKNOWN', {
      command: name,
      commands: Object.keys(commands).join(', '),
    });
  }
  const { run } = await entry.load();
  return run;
}
