import { fileURLToPath } from 'node:url';
import type { ControlPlaneAccess } from '../controlplane/access.ts';

export const configFolder = fileURLToPath(new URL('../../config', import.meta.url));

/** Applies a kustomization of `config/` for real. @throws Error with what kubectl said. */
export async function applyKustomization(plane: ControlPlaneAccess, name: string): Promise<string> {
  const { stdout, stderr, exitCode } = await plane.kubectl(['apply', '-k', `${configFolder}/${name}`]);
  if (exitCode !== 0) throw new Error(`kubectl apply -k config/${name}: ${stderr}`);
  return stdout + stderr;
}
