import { fieldManager, targetsNamespace } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { secrets } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound, isForbidden, isInvalid, isNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  isTargetSecretOf,
  renderTargetSecret,
  type TargetAccess,
  type TargetOwner,
  targetSecretKey,
} from '../../platform/targets/target-access.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';

/** Reads and writes the Secrets that hold the access to targets, and never one of another maker. */
export class TargetSecrets {
  readonly #client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete'>;

  /** `client`: of the platform. */
  constructor(client: Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete'>) {
    this.#client = client;
  }

  /** Undefined when there is none. */
  find(owner: TargetOwner): Promise<KubeObject | undefined> {
    return this.#client.get<KubeObject>(secrets, targetSecretKey(owner)).catch(ignoreNotFound);
  }

  /** `present` was found before: what has changed since is a conflict. Resolves with why it was not written, or with nothing. */
  async write(
    owner: TargetOwner,
    present: KubeObject | undefined,
    access: TargetAccess,
  ): Promise<TargetProblem | undefined> {
    const secret = renderTargetSecret(owner, access);
    try {
      if (present === undefined) {
        await this.#client.create(secrets, secret, { namespace: targetsNamespace, fieldManager });
      } else {
        const { uid, resourceVersion } = present.metadata;
        const metadata = { ...secret.metadata, uid, resourceVersion };
        await this.#client.replace(
          secrets,
          targetSecretKey(owner),
          { ...secret, metadata },
          { fieldManager },
        );
      }
      return undefined;
    } catch (error) {
      if (isForbidden(error) || isInvalid(error)) return notWritten;
      if (present === undefined && isNotFound(error)) return noNamespace;
      throw error;
    }
  }

  async delete(owner: TargetOwner): Promise<void> {
    const present = await this.find(owner);
    if (present === undefined || !isTargetSecretOf(present, owner)) return;
    const { uid } = present.metadata;
    await this.#client
      .delete(secrets, targetSecretKey(owner), { preconditions: { uid } })
      .catch(ignoreNotFound);
  }
}

const notWritten: TargetProblem = {
  reason: reasons.secretFailed,
  message: `The API server does not let Latchkey write the Secret of this target in ${targetsNamespace}: look for policies or a quota there.`,
};

const noNamespace: TargetProblem = {
  reason: reasons.secretFailed,
  message: `The namespace ${targetsNamespace} does not exist: apply config/default of this release.`,
};
