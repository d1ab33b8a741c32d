import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { type CredentialKind, credentialKinds } from '../../api/credential-kinds.ts';
import { finalizers } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { CredentialWriter } from './credential-writer.ts';
import {
  type Commit,
  type CommonStep,
  type DecisionInput,
  type DecisionSources,
  refuse,
} from './decision.ts';
import type { DesiredStatus } from './desired-status.ts';
import type { EndDelays } from './end-delays.ts';
import type { PacedWrites } from './paced-writes.ts';
import type { PermissionReviews } from './permission-reviews.ts';
import type { Review } from './review.ts';
import { isUnread, secretKeyOf } from './secret-record.ts';
import type { SecretUpdate } from './secret-state.ts';
import type { SecretWriter } from './secret-writer.ts';
import { isLockMessageOnly, onlyDescribes } from './status-patch.ts';

/** The services that the controllers of all kinds of credentials need. */
export interface ReconcilerServices extends DecisionSources {
  readonly writer: CredentialWriter;
  readonly secrets: SecretWriter;
  readonly finalizer: { finalize(record: CredentialRecord): Promise<WorkResult | undefined> };
  readonly expiryBudget: PacedWrites;
  /** For writes that only add what an earlier release did not write for people, and for what is said of scopes. */
  readonly descriptions: PacedWrites;
  /** For writes that say that a lock stops a credential, or does no more. Verifiers ask the locks themselves. */
  readonly lockBudget: PacedWrites;
  readonly endDelays: Pick<EndDelays, 'recorded'>;
  readonly reviews: Pick<PermissionReviews, 'ask'>;
}

/** Each one more comes of a change of the Secret meanwhile. */
const maxReads = 5;

/** The outcome of a step that only some kinds have. */
export type Outcome<I> =
  /** Decide again on the record as the step left it, and on what it found out and no object holds. */
  | { readonly record: CredentialRecord; readonly found?: Partial<I> }
  /** Nothing came of it: say so in status. */
  | { readonly record: CredentialRecord; readonly commit: Commit; readonly retryMs?: number }
  /** It is too early. Without a time, a change of something else brings the object again. */
  | WorkResult
  | undefined;

export interface CredentialReconcilerOptions<I extends DecisionInput, S extends { readonly step: string }>
  extends ReconcilerServices {
  readonly kind: CredentialKind;
  /** All that a decision depends on. */
  readonly inputOf: (record: CredentialRecord) => I;
  readonly decide: (input: I) => S | CommonStep;
  /** Carries out a step of this kind of credential. */
  readonly issue: (input: I, step: S) => Promise<Outcome<I>>;
  /** Brings in line what lies outside this cluster, before a status is written. The status may say less then. */
  readonly revokeBeforeCommit?: (
    record: CredentialRecord,
    desired: DesiredStatus,
  ) => Promise<{ readonly desired: DesiredStatus; readonly retryMs: number }>;
}

/** Does what the policy of a kind decides, one write after the other, until status says what is true. */
export class CredentialReconciler<I extends DecisionInput, S extends { readonly step: string }> {
  readonly #options: CredentialReconcilerOptions<I, S>;

  constructor(options: CredentialReconcilerOptions<I, S>) {
    this.#options = options;
  }

  /** Level-based: the key says which object to check, never what happened to it. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { stores, kind, writer, finalizer, unguarded } = this.#options;
    const known = stores.ofKind[kind].written.get(key);
    const record = known && (await writer.refreshIfUncertain(known));
    if (record === undefined) return undefined;
    if (record.deleted !== undefined) return finalizer.finalize(record);
    await unguarded.judged(record, record !== known);
    return this.#advance(record, {}, []);
  }

  /** `done`: steps that this reconcile has taken. */
  async #advance(
    record: CredentialRecord,
    found: Partial<I>,
    done: readonly string[],
  ): Promise<WorkResult | undefined> {
    const { kind, inputOf, decide, now, writer } = this.#options;
    await this.#readSecret(record);
    const input = { ...inputOf(record), ...found };
    const retryMs = input.withoutNewGroups?.retryMs;
    const step = decide(input);
    if (isFinalStep(step)) {
      if (step.step === 'commit') return this.#commit(record, step, retryMs);
      if (step.step === 'wait') return { requeueAfterMs: Math.max(0, step.requeueAt - now()) };
      return void (await writer.delete(record));
    }
    // The keys above it have changed since: it is not a loop, and their change brings it again.
    if (step.step === 'review' && done.includes('review')) return { requeueAfterMs: 0 };
    // A status that does not keep what was written must not mint credentials in a loop.
    if (done.includes(step.step))
      throw new RangeError(`the policy for ${credentialKinds[kind].noun}s repeats the step ${step.step}`);
    const outcome = await this.#carryOut(input, step as S | InterimStep);
    if (outcome === undefined || !('record' in outcome)) return outcome;
    if ('commit' in outcome) return this.#commit(outcome.record, outcome.commit, outcome.retryMs ?? retryMs);
    return this.#advance(outcome.record, { ...found, ...outcome.found }, [...done, step.step]);
  }

  /** The watch brings the metadata of Secrets alone. */
  async #readSecret(record: CredentialRecord): Promise<void> {
    const { stores, secrets } = this.#options;
    const key = secretKeyOf(record);
    for (let tries = 0; key !== undefined; tries++) {
      const present = stores.secret(key);
      if (present === undefined || !isUnread(record, present)) return;
      if (tries === maxReads) throw new RangeError('the Secret of spec.secretRef changes all the time');
      const read = await secrets.read(present, record);
      if (read !== undefined) stores.rememberContent(read);
    }
  }

  async #carryOut(input: I, step: S | InterimStep): Promise<Outcome<I>> {
    const { kind, writer, issue } = this.#options;
    const { record } = input;
    if (isReview(step)) return this.#review(input, step.review);
    if (step.step !== 'addFinalizer') return issue(input, step as S);
    return { record: await writer.addFinalizer(record, finalizers[kind]) };
  }

  async #review(input: I, review: Review): Promise<Outcome<I>> {
    const { record } = input;
    const denied = await this.#options.reviews.ask(record, review);
    if (denied === undefined) return { record, found: { reviewed: review } as Partial<I> };
    if (review.ofNewGroups)
      return { record, found: { withoutNewGroups: { retryMs: denied.waitMs } } as Partial<I> };
    return { record, commit: refuse(input, denied.refusal), retryMs: denied.waitMs };
  }

  async #commit(
    record: CredentialRecord,
    {
      desired: wanted,
      successor,
      endedAt,
      staleSecrets,
      secretUpdate,
      requeueAt = Number.POSITIVE_INFINITY,
    }: Commit,
    retryMs = Number.POSITIVE_INFINITY,
  ): Promise<WorkResult | undefined> {
    const { secrets, expiryBudget, lockBudget, endDelays, revokeBeforeCommit, now } = this.#options;
    const revoked = await revokeBeforeCommit?.(record, wanted);
    const desired = revoked?.desired ?? wanted;
    const waitMs = this.#placeOf(record, desired);
    if (waitMs > 0) return { requeueAfterMs: Math.min(waitMs, Math.max(1, requeueAt - now())) };
    const describes = onlyDescribes(record, desired, now());
    if (!describes) await this.#write(record, desired, successor);
    endDelays.recorded(record, desired.ready.reason, endedAt);
    await secrets.deleteAll(staleSecrets);
    for (const budget of [expiryBudget, lockBudget]) budget.forget(record.uid);
    // Last, because nothing depends on it.
    const annotateMs = secretUpdate ? await this.#annotate(record, secretUpdate) : Number.POSITIVE_INFINITY;
    const describeMs = describes ? await this.#describe(record, desired) : Number.POSITIVE_INFINITY;
    const dueMs = Math.min(Math.max(0, requeueAt - now()), describeMs, annotateMs);
    const nextMs = Math.min(dueMs, revoked?.retryMs ?? retryMs, retryMs);
    return Number.isFinite(nextMs) ? { requeueAfterMs: nextMs } : undefined;
  }

  /** Milliseconds until it is the turn of a write that thousands may need at once. */
  #placeOf(record: CredentialRecord, desired: DesiredStatus): number {
    const { expiryBudget, lockBudget } = this.#options;
    if (isNewEnd(record, desired)) return expiryBudget.reserve(record.uid);
    return isLockMessageOnly(record, desired) ? lockBudget.reserve(record.uid) : 0;
  }

  async #write(record: CredentialRecord, desired: DesiredStatus, successor?: Reason): Promise<void> {
    const { writer, descriptions } = this.#options;
    await writer.writeStatus(record, desired, successor);
    descriptions.forget(record.uid);
  }

  /** The same for the Secret. What an earlier release wrote says nothing yet, and may be thousands. */
  async #annotate(record: CredentialRecord, update: SecretUpdate): Promise<number> {
    const { descriptions, secrets } = this.#options;
    const waitMs = update.secret.state === '' ? descriptions.reserve(record.uid) : 0;
    if (waitMs === 0) await secrets.annotate(record, update);
    return waitMs > 0 ? waitMs : Number.POSITIVE_INFINITY;
  }

  /** Resolves with when to come back for it, in milliseconds, where the write has to wait for its turn. */
  async #describe(record: CredentialRecord, desired: DesiredStatus): Promise<number> {
    const waitMs = this.#options.descriptions.reserve(record.uid);
    if (waitMs === 0) await this.#write(record, desired);
    return waitMs > 0 ? waitMs : Number.POSITIVE_INFINITY;
  }
}

/** After it the reconcile goes on. */
type InterimStep = Extract<CommonStep, { step: 'addFinalizer' | 'review' }>;

const isReview = (step: { readonly step: string }): step is Extract<CommonStep, { step: 'review' }> =>
  step.step === 'review';

/** After it the reconcile is over. */
function isFinalStep(step: { readonly step: string }): step is Exclude<CommonStep, InterimStep> {
  return ['delete', 'wait', 'commit'].includes(step.step);
}

/**
 * True when the write would be the first to say that the life is over: such writes come by the thousand and have a
 * budget. Where the operator has disabled the object, that write has had its turn.
 */
function isNewEnd({ kind, conditions, disabledOwner }: CredentialRecord, { ready }: DesiredStatus): boolean {
  const present = findCondition(conditions, conditionTypes.ready)?.reason;
  const hadItsTurn = kind === 'OwnedAccessKey' && disabledOwner === 'operator';
  return ready.reason === reasons.expired && present !== reasons.expired && !hadItsTurn;
}
