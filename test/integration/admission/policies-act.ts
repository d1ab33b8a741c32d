import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { installLatchkey } from '../../../lab/operator/install.ts';
import { until } from '../../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { type ApiClient, contentTypes } from './api-client.ts';
import { objectOf, pathOf } from './objects.ts';

/** Applies config/default and waits until the API server acts on the validating policies, too. */
export async function installPolicies(
  plane: ControlPlaneAccess,
  admin: ApiClient,
  writer: ApiClient,
): Promise<void> {
  await installLatchkey(plane);
  await until('the policies refuse', async () => await refuses(admin, writer), { timeoutMs: 90_000 });
}

async function refuses(admin: ApiClient, writer: ApiClient): Promise<boolean> {
  const object = objectOf(ownedAccessKeys);
  await admin.send('POST', pathOf(ownedAccessKeys), { body: object });
  const path = pathOf(ownedAccessKeys, object.metadata.name);
  const dryRun = await writer.send('DELETE', path, { query: { dryRun: 'All' } });
  const status = await admin.send('PATCH', `${path}/status`, {
    body: { status: { observedGeneration: 7 } },
    contentType: contentTypes.mergePatch,
    query: { dryRun: 'All' },
  });
  const creation = await writer.send('POST', pathOf(ownedAccessKeys), {
    body: object,
    query: { dryRun: 'All' },
  });
  const change = await writer.send('PUT', path, { body: object, query: { dryRun: 'All' } });
  const theirs = await writer.send('DELETE', path);
  await admin.send('DELETE', path);
  await admin.send('PATCH', path, {
    body: { metadata: { finalizers: null } },
    contentType: contentTypes.mergePatch,
  });
  return [dryRun, status, creation, change, theirs].every((answer) => answer.status === 403);
}
