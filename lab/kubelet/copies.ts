import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Guard } from '../controlplane/guard.ts';

const script = path.join(import.meta.dirname, 'copies.sh');

export interface CopyOrder {
  /** Unique within the guard. */
  readonly name: string;
  /** The program. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly pod: string;
  /** On this machine, where commands of the pod run too. */
  readonly file: string;
  /** Besides the one that reads slowly. */
  readonly count: number;
  /** Sets the protocol, see `session-protocols.ts`. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Copies a file into a pod and out of it many times at once, each time with a kubectl of its own. One of those that come out is read a
 * megabyte far and then stands still until the others are over. Returns the checksums (SHA-256, hexadecimal) in the order in which they came: that of the slow one last.
 * @throws Error with what the programs said when one of them fails.
 */
export async function copyAtOnce(guard: Guard, order: CopyOrder): Promise<readonly string[]> {
  const cwd = path.join(guard.folder, order.name);
  await mkdir(cwd);
  const { exited, logPath } = await guard.run({
    name: order.name,
    command: 'bash',
    args: [script],
    cwd,
    env: {
      ...order.env,
      KUBECTL: order.kubectl,
      KUBECONFIG: order.kubeconfig,
      KUBECACHEDIR: path.join(cwd, 'cache'),
      POD: order.pod,
      FILE: order.file,
      BYTES: String((await stat(order.file)).size),
      COUNT: String(order.count),
    },
  });
  const code = await exited;
  const lines = (await readFile(logPath, 'utf8')).trimEnd().split('\n');
  const checksums = lines.filter((line) => /^[0-9a-f]{64}$/.test(line));
  const isInOrder = lines.at(-2) === 'all but the slow one';
  if (code !== 0 || !isInOrder || checksums.length !== order.count + 1)
    throw new Error(
      `the copies ended with ${code}: ${lines.filter((line) => !checksums.includes(line)).join('\n')}`,
    );
  return checksums;
}
