import { reasons } from '../../api/reasons.ts';
import { virtualClusterInstanceKubeConfigs } from '../../api/resources.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { isOwn } from '../index/ownership.ts';
import type { Verdict } from '../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import type { EndpointServices } from './endpoint.ts';

/** The access key that a kubeconfig names, if it is one of the holder's own. */
export function ownKey(
  index: EndpointServices['index'],
  verdict: Verdict,
  name: string | undefined,
): LiveRecord | undefined {
  const key = name === undefined ? undefined : index.records.ofKind.OwnedAccessKey.get(name);
  return key !== undefined && isOwn(key, verdict) ? key : undefined;
}

interface NamedKey {
  readonly accessKey: string | undefined;
  /** Of the kubeconfig. */
  readonly namespace: string;
}

/**
 * A key may invite a namespace: those who may create kubeconfigs there get some of its user. Through the gateway every holder creates
 * kubeconfigs, so one below a key of somebody else takes that right without it. An answer for those who have it not.
 */
export async function namedKeyDenial(
  { index, permissions }: Pick<EndpointServices, 'index' | 'permissions'>,
  verdict: Verdict,
  { accessKey, namespace }: NamedKey,
): Promise<ErrorAnswer | undefined> {
  if (accessKey === undefined || accessKey === '' || ownKey(index, verdict, accessKey) !== undefined)
    return undefined;
  const { identity } = verdict;
  const { plural: resource } = virtualClusterInstanceKubeConfigs;
  const right = { verb: 'create', resource, namespace, name: '' };
  return (await permissions.isAllowed(identity, right)) ? undefined : foreignKey;
}

const foreignKey = errorAnswer('ERR_KUBECONFIG_FORBIDDEN', {
  reason: reasons.accessKeyNotAllowed,
  problem:
    'spec.accessKey names no key of your own, and that takes the right to create virtualclusterinstancekubeconfigs in the namespace: name one of yours, or leave it out',
});
