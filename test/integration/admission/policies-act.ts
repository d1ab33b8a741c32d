import { setTimeout as delay } from 'node:timers/promises';
import { annotations } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { type ApiClient, contentTypes } from './api-client.ts';
import { objectOf, pathOf } from './objects.ts';

/** Waits until the API server has loaded the policies, which takes it a second or two after they were created. */
export async function untilPoliciesAct(clients: { admin: ApiClient; user: UserMaker }): Promise<void> {
  const writer = await clients.user('latchkey-probe', ['latchkey-writers']);
  const deadline = Date.now() + 30_000;
  while (!((await stamps(clients.admin)) && (await refuses(clients.admin, writer)))) {
    if (Date.now() > deadline)
      throw new Error('the admission policies do not act 30 s after they were applied');
    await delay(200);
  }
}

type UserMaker = (name: string, groups: readonly string[]) => Promise<ApiClient>;

async function stamps(admin: ApiClient): Promise<boolean> {
  const object = objectOf(ownedAccessKeys);
  const { status, body } = await admin.send('POST', pathOf(ownedAccessKeys), {
    body: object,
    query: { dryRun: 'All' },
  });
  const found: Record<string, string> = body.metadata?.annotations ?? {};
  return status === 201 && annotations.requester in found && (body.metadata.finalizers ?? []).length > 0;
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
  await admin.send('DELETE', path);
  await admin.send('PATCH', path, {
    body: { metadata: { finalizers: null } },
    contentType: contentTypes.mergePatch,
  });
  return dryRun.status === 403 && status.status === 403;
}
