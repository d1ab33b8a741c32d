import { group } from '../api/names.ts';
import { subjectAccessReviews } from '../api/resources.ts';
import type { Identity } from '../credentials/identity.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { KubeObject } from '../kube/object.ts';

/** May somebody do this to one object of our kinds? */
export interface AccessQuestion {
  readonly verb: string;
  /** Plural, lower case. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

interface SubjectAccessReview extends KubeObject {
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
      groups: [...groups, 'system:authenticated'],
      resourceAttributes: { group, ...question },
    },
  };
  const { status } = await client.create<SubjectAccessReview>(subjectAccessReviews, review);
  return status?.allowed === true && status.denied !== true;
}
