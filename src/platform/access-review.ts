import { group } from '../api/names.ts';
import { selfSubjectAccessReviews, subjectAccessReviews } from '../api/resources.ts';
import type { Identity } from '../credentials/identity.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { KubeObject } from '../kube/object.ts';

/** May somebody do this to one object? */
export interface AccessQuestion {
  /** Default: the group of our kinds. */
  readonly group?: string;
  readonly verb: string;
  /** Plural, lower case. */
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: the object has none. */
  readonly namespace?: string;
  readonly name: string;
}

interface AccessReview extends KubeObject {
  readonly status?: { readonly allowed?: unknown; readonly denied?: unknown };
}

/**
 * Whether the API server lets this identity do it, by whatever authorises there. What it cannot evaluate is not
 * allowed. Rejects with the client's errors.
 */
export async function isAllowed(
  client: Pick<KubeClient, 'create'>,
  { user, groups }: Pick<Identity, 'user' | 'groups'>,
  question: AccessQuestion,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user,
      groups: [...new Set([...groups, 'system:authenticated'])],
      resourceAttributes: { group, ...question },
    },
  };
  const { status } = await client.create<AccessReview>(subjectAccessReviews, review);
  return isYes(status);
}

/** The same for the user that the client acts as, who needs no right to ask. */
export async function isSelfAllowed(
  client: Pick<KubeClient, 'create'>,
  question: AccessQuestion,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group, ...question } },
  };
  const { status } = await client.create<AccessReview>(selfSubjectAccessReviews, review);
  return isYes(status);
}

const isYes = (status: AccessReview['status']): boolean => status?.allowed === true && status.denied !== true;
