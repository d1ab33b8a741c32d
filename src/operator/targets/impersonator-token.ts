import { parseInstant } from '../../api/instant.ts';
import { asObject, asText } from '../../api/json.ts';
import { targetObjects } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { serviceAccounts } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isUnauthorized } from '../../kube/kube-error.ts';
import { objectPath } from '../../kube/resource-path.ts';
import { isBearerToken } from '../../platform/targets/admin-kubeconfig/admin-kube-config.ts';
import type { ImpersonatorToken, TargetAccess } from '../../platform/targets/target-access.ts';
import { TargetFailure } from './target-failure.ts';
import type { TargetSession } from './target-session.ts';

const { namespace, impersonator } = targetObjects;
/** The least that an API server takes is ten minutes. A shorter life would be over before the next check renews it. */
const minLifeMs = 5 * 60_000;
const tokenPath = objectPath(serviceAccounts, { namespace, name: impersonator }, 'token');
const reviewPath = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const username = `system:serviceaccount:${namespace}:${impersonator}`;

/**
 * Asks the target for a token of the impersonator. The target may give it a shorter life; a longer
 * one is not believed. @throws TargetFailure when the answer has no usable token; what the request throws.
 */
export async function requestToken(
  { client, limits }: TargetSession,
  now: number,
  lifeMs: number,
): Promise<ImpersonatorToken> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: Math.floor(lifeMs / 1000) },
  };
  const answer = await client.request<unknown>('POST', tokenPath, { body, ...limits() });
  const status = asObject(asObject(answer)['status']);
  const token = asText(status['token']);
  const end = parseInstant(status['expirationTimestamp']);
  if (token === undefined || !isBearerToken(token) || end === undefined) throw new TargetFailure(noToken);
  if (end <= now) throw new TargetFailure(endedToken);
  if (end < now + minLifeMs) throw new TargetFailure(shortToken);
  return { token, issued: now, expires: Math.min(end, now + lifeMs) };
}

/**
 * Whether the access may be tried at a target: it is for this very server and authority, so that the token of one
 * target is never shown to another, and less than half of its life is gone.
 */
export function isCurrent(access: TargetAccess, server: URL, ca: string, now: number): boolean {
  const renewAt = access.issued + (access.expires - access.issued) / 2;
  return access.server === server.href && access.ca === ca && now < renewAt;
}

/** Whether the target takes the token for that of the impersonator. `client` speaks with it. */
export async function isAccepted(client: KubeClient, limits: TargetSession['limits']): Promise<boolean> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const review = await client.request<unknown>('POST', reviewPath, { body, ...limits() });
    return asObject(asObject(asObject(review)['status'])['userInfo'])['username'] === username;
  } catch (error) {
    if (isUnauthorized(error)) return false;
    throw error;
  }
}

const noToken = {
  reason: reasons.targetAnswer,
  message:
    'The target answered a request for a token without a usable one: look for a proxy before its API server.',
};

const shortToken = {
  reason: reasons.targetAnswer,
  message:
    'The target gave a token that ends within five minutes, before it could be renewed: set the clocks of the target and of the platform, and look at the longest life of tokens there.',
};

const endedToken = {
  reason: reasons.targetAnswer,
  message:
    'The target gave a token that has ended already: set the clocks of the target and of the platform.',
};
