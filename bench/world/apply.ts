import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { kubectl } from './kubectl.ts';

/** Creates or changes these objects as the administrator. @throws Error with what kubectl said. */
export async function apply(plane: ControlPlaneAccess, objects: readonly object[]): Promise<void> {
  await kubectl(plane, ['apply', '-f', '-'], objects.map((object) => JSON.stringify(object)).join('\n---\n'));
}
