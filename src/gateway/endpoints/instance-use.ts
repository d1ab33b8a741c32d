import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { virtualClusterInstances } from '../../api/resources.ts';
import { namedKeyDenial, ownKey } from './named-key.ts';
import type { OwnRequest } from './own-request.ts';
import { Refusal, refuse } from './refusal.ts';

/** What is asked about is kept for a while: a longer name could fill the memory, and is none of an instance. */
const instanceName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/**
 * Asks whether a new kubeconfig is for somebody who may use its instance. Of one with `spec.accessKey` the policies ask nothing, and the
 * operator asks when it exists: so anybody could take names and room in every namespace, and learn which ones there are. Throws a
 * Refusal.
 */
export async function requireInstanceUse(request: OwnRequest, object: JsonObject): Promise<void> {
  if (request.kind !== 'VirtualClusterInstanceKubeConfig') return;
  const { namespace } = request.asked;
  const accessKey = asText(asObject(object['spec'])['accessKey']);
  const { plural: resource } = virtualClusterInstances;
  const entry = { verb: 'use', resource, namespace, name: instanceNameOf(object) };
  const denial =
    (await request.services.permissions.denialOf(speakerOf(request, accessKey), entry)) ??
    (await namedKeyDenial(request.services, request.sender.verdict, { accessKey, namespace }));
  if (denial !== undefined) throw new Refusal(denial);
}

/** An instance of its own name, where it names none. */
function instanceNameOf({ spec, metadata }: JsonObject): string {
  const name = asText(asObject(spec)['virtualClusterInstance']) ?? asText(asObject(metadata)['name']) ?? '';
  if (name === '' || instanceName.test(name)) return name;
  return refuse('ERR_OBJECT_MISMATCH', { problem: 'spec.virtualClusterInstance cannot be the name of one' });
}

/** Of a key that is not one's own nothing is told, not even by a right of its user. */
function speakerOf({ services: { index }, sender: { verdict } }: OwnRequest, accessKey: string | undefined) {
  const key = ownKey(index, verdict, accessKey);
  const found = key && index.find(key.status.credentialHash ?? '');
  return found !== undefined && 'identity' in found ? found.identity : (key?.identity ?? verdict.identity);
}
