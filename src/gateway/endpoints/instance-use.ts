import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { virtualClusterInstances } from '../../api/resources.ts';
import type { Identity } from '../../credentials/identity.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import { isProtectedNamespace } from '../../scope/gate/sensitive.ts';
import { isObjectName } from '../../scope/request-path.ts';
import { explainDenial } from '../gate/authorise.ts';
import type { Verdict } from '../index/verdict.ts';
import type { ErrorAnswer } from '../server/error-answer.ts';
import type { EndpointServices } from './endpoint.ts';
import { namedKeyDenial, ownKey } from './named-key.ts';
import type { OwnRequest } from './own-request.ts';
import { Refusal, refuse } from './refusal.ts';

/**
 * Asks whether a new kubeconfig is for somebody who may use its instance. The operator asks at each issue, when the object exists: so
 * anybody could take names and room in every namespace, and learn which ones there are. Throws a Refusal.
 */
export async function requireInstanceUse(request: OwnRequest, object: JsonObject): Promise<void> {
  if (request.kind !== 'VirtualClusterInstanceKubeConfig') return;
  const { namespace } = request.asked;
  const spec = asObject(object['spec']);
  const accessKey = asText(spec['accessKey']);
  const { plural: resource } = virtualClusterInstances;
  const entry = { resource, namespace, name: instanceNameOf(object) };
  requireScope(request, entry);
  const { services, sender } = request;
  const speaker = speakerOf(services, sender.verdict, accessKey);
  const denial =
    (await useDenial(services, speaker, { ...entry, clientCert: spec['clientCert'] === true })) ??
    (await namedKeyDenial(services, sender.verdict, { accessKey, namespace }));
  if (denial !== undefined) throw new Refusal(denial);
}

/** Why someone may not have a kubeconfig for an instance, with a client certificate or without. */
export async function useDenial(
  { permissions }: Pick<EndpointServices, 'permissions'>,
  speaker: Identity,
  { clientCert, ...entry }: Omit<AccessQuestion, 'verb'> & { readonly clientCert: boolean },
): Promise<ErrorAnswer | undefined> {
  const denial = await permissions.denialOf(speaker, { ...entry, verb: 'use' });
  if (denial !== undefined || !clientCert) return denial;
  return await permissions.denialOf(speaker, { ...entry, verb: 'use-as-admin' });
}

/** What a scope must allow: the same as for a POST to the instance. Nothing of a user stands where Latchkey keeps its own. */
function requireScope(
  { asked, sender: { verdict } }: OwnRequest,
  { resource, name }: Pick<AccessQuestion, 'resource' | 'name'>,
): void {
  const { namespace } = asked;
  if (isProtectedNamespace(namespace)) refuse('ERR_NAMESPACE', { namespace });
  const place = {
    resource,
    subresource: 'kubeconfig',
    namespace,
    name,
    allNamespaces: false,
    mayCreate: false,
  };
  const problem = explainDenial(verdict, { ...asked, ...place, verb: 'create' }, { isPlatform: true });
  if (problem !== undefined) refuse('ERR_SCOPE', { problem });
}

/** An instance of its own name, where it names none. What is asked about is kept for a while: a longer name could fill the memory. */
function instanceNameOf({ spec, metadata }: JsonObject): string {
  const name = asText(asObject(spec)['virtualClusterInstance']) ?? asText(asObject(metadata)['name']) ?? '';
  if (name === '' || isObjectName(name)) return name;
  return refuse('ERR_OBJECT_MISMATCH', { problem: 'spec.virtualClusterInstance cannot be the name of one' });
}

/** Of a key that is not one's own nothing is told, not even by a right of its user. */
export function speakerOf(
  { index }: Pick<EndpointServices, 'index'>,
  verdict: Verdict,
  accessKey: string | undefined,
): Identity {
  const key = ownKey(index, verdict, accessKey);
  const found = key && index.find(key.status.credentialHash ?? '');
  return found !== undefined && 'identity' in found ? found.identity : (key?.identity ?? verdict.identity);
}
