import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { virtualClusterInstances } from '../../api/resources.ts';
import type { Identity } from '../../credentials/identity.ts';
import { entryDenial } from '../gate/entry-permissions.ts';
import { isOwn } from '../index/ownership.ts';
import type { OwnRequest } from './own-request.ts';
import { Refusal } from './refusal.ts';

/**
 * Asks whether a new kubeconfig is for somebody who may use its instance. Of one with `spec.accessKey` the policies ask nothing, and the
 * operator asks when it exists: so anybody could take names and room in every namespace, and learn which ones there are. Throws a
 * Refusal.
 */
export async function requireInstanceUse(request: OwnRequest, object: JsonObject): Promise<void> {
  if (request.kind !== 'VirtualClusterInstanceKubeConfig') return;
  const { permissions } = request.services;
  const spec = asObject(object['spec']);
  const identity = speakerOf(request, asText(spec['accessKey']));
  const { plural: resource } = virtualClusterInstances;
  const name = asText(spec['virtualClusterInstance']) ?? '';
  const entry = { verb: 'use', resource, namespace: request.asked.namespace, name };
  if (permissions.find(identity, entry) === undefined) await permissions.ask(identity, entry);
  if (permissions.find(identity, entry) !== true) throw new Refusal(entryDenial(identity, entry));
}

/** Who the kubeconfig will speak for. Of a key that is not one's own nothing is told, not even by a right of its user. */
function speakerOf({ services, sender }: OwnRequest, accessKey: string | undefined): Identity {
  const { verdict } = sender;
  const { index } = services;
  const parent = accessKey === undefined ? undefined : index.records.ofKind.OwnedAccessKey.get(accessKey);
  if (parent === undefined || !isOwn(parent, verdict)) return verdict.identity;
  const found = index.find(parent.status.credentialHash ?? '');
  return found !== undefined && 'identity' in found ? found.identity : verdict.identity;
}
