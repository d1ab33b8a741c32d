import { fieldManager, targetsNamespace } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { secrets } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound, isForbidden, isInvalid, isNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  isTargetSecretOf,
  renderTargetMark,
  renderTargetSecret,
  type TargetAccess,
  type TargetOwner,
  targetSecretKey,
} from '../../platform/targets/target-access.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';

type RenderedSecret = ReturnType<typeof renderTargetMark>;

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

  /**
   * Notes that something may be in the target from now on; to be called before it is. Resolves with the Secret that says
   * so, or with why there is none.
   */
  mark(owner: TargetOwner): Promise<KubeObject | TargetProblem> {
    return this.#create(renderTargetMark(owner)).catch((error: unknown) => problemOf(error, true));
  }

  /** `present` was found before: what has changed since is a conflict. Resolves with why it was not written, or with nothing. */
  async write(
    owner: TargetOwner,
    present: KubeObject | undefined,
    access: TargetAccess,
  ): Promise<TargetProblem | undefined> {
    const secret = renderTargetSecret(owner, access);
    try {
      if (present === undefined) await this.#create(secret);
      else await this.#replace(owner, secret, present);
      return undefined;
    } catch (error) {
      return problemOf(error, present === undefined);
    }
  }

  #create(secret: RenderedSecret): Promise<KubeObject> {
    return this.#client.create<KubeObject>(secrets, secret, { namespace: targetsNamespace, fieldManager });
  }

  async #replace(owner: TargetOwner, secret: RenderedSecret, present: KubeObject): Promise<void> {
    const { uid, resourceVersion } = present.metadata;
    const metadata = { ...secret.metadata, uid, resourceVersion };
    await this.#client.replace(secrets, targetSecretKey(owner), { ...secret, metadata }, { fieldManager });
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

/** Why a Secret could not be written. @throws what says nothing about that. */
function problemOf(error: unknown, isNew: boolean): TargetProblem {
  if (isForbidden(error) || isInvalid(error)) return notWritten;
  if (isNew && isNotFound(error)) return noNamespace;
  throw error;
}

const notWritten: TargetProblem = {
  reason: reasons.secretFailed,
  message: `The API server does not let Latchkey write the Secret of this target in ${targetsNamespace}: look for policies or a quota there.`,
};

const noNamespace: TargetProblem = {
  reason: reasons.secretFailed,
  message: `The namespace ${targetsNamespace} does not exist: apply config/default of this release.`,
};
