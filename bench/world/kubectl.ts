import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';

/** Runs kubectl as the administrator, for at most 90 s. @throws Error with what kubectl said. */
export async function kubectl(plane: ControlPlaneAccess, args: readonly string[], input = ''): Promise<void> {
  const { exitCode, stderr } = await plane.kubectl(args, { input, timeoutMs: 90_000 });
  if (exitCode !== 0) throw new Error(`kubectl ${args[0]} failed: ${stderr}`);
}
