import type { ControlPlane } from '../../../lab/controlplane/control-plane.ts';

/** An admission policy or a binding. */
export type Piece = Readonly<{ kind: string; name: string }>;

/** Deletes them, and gives what makes them again, as a re-sync does that deletes and creates. */
export async function takeAway(plane: ControlPlane, pieces: readonly Piece[]): Promise<() => Promise<void>> {
  const kubectl = async (args: readonly string[], input?: string): Promise<string> => {
    const { stdout, stderr, exitCode } = await plane.kubectl(args, input === undefined ? {} : { input });
    if (exitCode !== 0) throw new Error(stderr);
    return stdout;
  };
  const kept = await Promise.all(pieces.map(({ kind, name }) => kubectl(['get', kind, name, '-o', 'json'])));
  for (const { kind, name } of pieces) await kubectl(['delete', kind, name]);
  return async () => {
    for (const manifest of kept) {
      const { metadata, status: _, ...rest } = JSON.parse(manifest);
      const { name, labels } = metadata;
      await kubectl(['create', '-f', '-'], JSON.stringify({ ...rest, metadata: { name, labels } }));
    }
  };
}
