import { randomInt } from 'node:crypto';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiAnswer } from '../admission/api-client.ts';
import { objectOf, pathOf } from '../admission/objects.ts';
import type { World } from '../admission/world.ts';

export type Entries = Readonly<Record<string, string>>;

const name = systemObjects.sitePolicy;
const collection = `/api/v1/namespaces/${systemNamespace}/configmaps`;
export const policyPath = `${collection}/${name}`;
const mark = 'maxKeyTTL.Workspace';

/** The ConfigMap of the site policy. */
export const policyOf = (data: Entries, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: systemNamespace },
  data,
  ...more,
});

/** Stores the ConfigMap, whether or not there is one. */
export async function writePolicy(world: World, config: object): Promise<ApiAnswer> {
  const answer = await world.admin.send('POST', collection, { body: config });
  return answer.status === 409 ? await world.admin.send('PUT', policyPath, { body: config }) : answer;
}

/**
 * Stores the entries and waits until the API server acts on them: the limit for keys of type Workspace is another one each
 * time, and tells which version is in force. Resolves with how long that took, milliseconds.
 */
export async function setPolicy(world: World, data: Entries): Promise<number> {
  const ttl = newMark(Number(data['maxKeyTTL'] ?? 3_000_000_000));
  const answer = await writePolicy(world, policyOf({ ...data, [mark]: String(ttl) }));
  if (answer.status >= 300) throw new Error(answer.body.message);
  const acts = async () => String((await probe(world, ttl + 1)).body.message).includes(`${ttl} seconds`);
  return await timeUntil('the site policy acts', acts, { everyMs: 5 });
}

let lastMark = 0;

/** Another one than before, and no more than the limit for all keys, which would count in its place. */
function newMark(most: number): number {
  const drawn = randomInt(600, most);
  lastMark = drawn === lastMark ? drawn + 1 : drawn;
  return lastMark;
}

/** Deletes the ConfigMap and waits until nothing of it acts any more. */
export async function dropPolicy(world: World): Promise<void> {
  await world.admin.send('DELETE', policyPath);
  const gone = async () => (await probe(world, 3_153_600_000)).status === 201;
  await until('the site policy acts no more', gone, { everyMs: 5 });
}

/** The answer to a key of this life that is not stored. */
async function probe(world: World, ttl: number): Promise<ApiAnswer> {
  const spec = { user: 'alice', type: 'Workspace', scope: {}, ttl };
  const body = objectOf(ownedAccessKeys, spec);
  return await world.admin.send('POST', pathOf(ownedAccessKeys), { body, query: { dryRun: 'All' } });
}

/** Takes the binding away that keeps bad values out, as on a site where they were stored before it. */
export async function dropGuard(world: World): Promise<void> {
  const path =
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/latchkey-site-policy-values';
  await world.admin.send('DELETE', path);
  const isOpen = async () => {
    const body = policyOf({ nonsense: 'x' });
    const options = { body, query: { dryRun: 'All' } };
    return (await world.admin.send('PUT', policyPath, options)).status === 200;
  };
  await writePolicy(world, policyOf({}));
  await until('bad values can be stored', isOpen);
}

/** To be called after all tests of a file: later files expect that the site asks for nothing. */
export async function clearPolicy(): Promise<void> {
  const { kubectl } = await sharedControlPlane();
  await kubectl(['delete', 'configmap', name, '-n', systemNamespace, '--ignore-not-found']);
}
