import { finalizers, purposes } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { signToken, tokenTooLarge } from '../../../credentials/tokens/sign-token.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import { requeueAt } from '../../shared/controller.ts';
import type { KeyRing } from '../../signing-keys/key-ring.ts';
import type { CredentialStores } from '../credential-stores.ts';
import type { CredentialWriter } from '../credential-writer.ts';
import type { ExpiryBudget } from '../expiry-budget.ts';
import type { Finalizer } from '../finalizer.ts';
import type { IssuedInput, IssuedLimits } from '../issued/input.ts';
import { decideIssued, refuseIssued } from '../issued/policy.ts';
import { issuedStatus } from '../issued/status.ts';
import type { IssueCredential, SettleCredential } from '../issued/step.ts';
import { isNewEnd } from '../new-end.ts';
import { secretKeyOf } from '../owned-secrets.ts';
import type { SecretWriter } from '../secret-writer.ts';
import { claimsOf } from './claims.ts';

export interface TokenControllerOptions {
  readonly stores: CredentialStores;
  readonly writer: CredentialWriter;
  readonly secrets: SecretWriter;
  readonly finalizer: Finalizer;
  readonly ring: KeyRing;
  readonly expiryBudget: ExpiryBudget;
  /** The base URL. */
  readonly issuer: string;
  readonly limits: IssuedLimits;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  /** Throws when nothing may be signed now: a signature cannot be taken back. */
  readonly assertMayIssue: () => void;
}

/** Issues, renews and ends tokens as the policy decides. */
export class TokenController {
  readonly #options: TokenControllerOptions;

  constructor(options: TokenControllerOptions) {
    this.#options = options;
  }

  /** Level-based: `name` says which token to look at, never what happened to it. */
  async reconcile(name: string): Promise<WorkResult | undefined> {
    const { stores, finalizer, writer } = this.#options;
    const known = stores.token(name);
    const record = known && (await writer.certain(known));
    if (record === undefined) return undefined;
    return record.deleted === undefined
      ? this.#advance(record)
      : finalizer.finalize(record, finalizers.DirectClusterEndpointToken);
  }

  async #advance(record: CredentialRecord, issued = false): Promise<WorkResult | undefined> {
    const { writer } = this.#options;
    const input = this.#input(record);
    const step = decideIssued(input);
    // A status that does not keep what was confirmed must not mint tokens in a loop.
    if (step.step === 'issue' && issued) throw new RangeError('the policy for tokens does not settle');
    switch (step.step) {
      case 'addFinalizer':
        return this.#advance(await writer.addFinalizer(record, finalizers.DirectClusterEndpointToken));
      case 'delete':
        return void (await writer.delete(record));
      case 'wait':
        return requeueAt(step.requeueAt, this.#options.now());
      case 'issue':
        return this.#issue(input, step);
      case 'settle':
        return this.#settle(record, step);
    }
  }

  #input(record: CredentialRecord): IssuedInput {
    const { stores, ring, now, limits } = this.#options;
    const secretKey = secretKeyOf(record);
    const secret = secretKey === undefined ? undefined : stores.secret(secretKey);
    return {
      record,
      lookup: (name) => stores.key(name),
      credentialByUID: (uid) => stores.byUID(uid)[0],
      isPublished: (keyID) => ring.isPublished(keyID),
      ...(secret === undefined ? {} : { secret }),
      ownSecrets: stores.secretsOf(record.uid, purposes.credential),
      now: now(),
      trustedSince: this.#options.trustedSince(),
      limits,
    };
  }

  async #issue(input: IssuedInput, issue: IssueCredential): Promise<WorkResult | undefined> {
    const { record } = input;
    const { ring, issuer, assertMayIssue, secrets, writer } = this.#options;
    await writer.assertAdmitted(record);
    assertMayIssue();
    const { signer } = ring;
    // The ring brings every token again when there is a key.
    if (signer === undefined) return undefined;
    const token = signToken(claimsOf(record, issue, issuer), signer);
    if (tokenTooLarge(token)) return this.#settle(record, refuseIssued(input, tooLarge));
    if (record.secretRef !== undefined) {
      const problem = await secrets.write(record, issue.serial, token);
      if (problem !== undefined) {
        const final = problem.reason === reasons.secretConflict;
        return this.#settle(record, refuseIssued(input, { ...problem, final }));
      }
    }
    const issued = { document: token, credentialHash: credentialHash(token), keyID: signer.kid };
    const desired = issuedStatus(input, issue, issued);
    const written = await writer.writeStatus(record, desired, issue.cause);
    return this.#advance(written, true);
  }

  async #settle(record: CredentialRecord, step: SettleCredential): Promise<WorkResult | undefined> {
    const { writer, secrets, now, expiryBudget } = this.#options;
    const waitMs = isNewEnd(record, step.desired) ? expiryBudget.reserve(record.uid) : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await writer.writeStatus(record, step.desired);
    await secrets.deleteAll(step.staleSecrets);
    return requeueAt(step.requeueAt, now());
  }
}

const tooLarge = {
  reason: reasons.tokenTooLarge,
  message:
    'The token would be larger than 6 KiB: shorten spec.scope, spec.rules, or the scopes of the access keys above.',
  final: true,
};
