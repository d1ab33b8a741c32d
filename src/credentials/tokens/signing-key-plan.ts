import type { SigningKey, SigningKeyDates } from './signing-key.ts';

/** Milliseconds, but for `maxTokenLife`. */
export interface SigningKeyPolicy {
  /** How long one key signs. */
  readonly rotation: number;
  /** How long before it signs a key is published, so that every verifier has read it by then. */
  readonly publishAhead: number;
  /** Seconds; the longest life that a credential signed now can get. */
  readonly maxTokenLife: number;
  /** How far the clocks of verifiers may be off; an old key stays published this much longer. */
  readonly leeway: number;
}

export const defaultSigningKeyPolicy = {
  rotation: 30 * 86_400_000,
  publishAhead: 86_400_000,
  leeway: 300_000,
} as const;

export interface SigningKeyPlan {
  /** The key that signs now. Absent only while there is none at all; then `create` is set. */
  readonly active?: SigningKey;
  /** The dates of a key to make now. */
  readonly create?: SigningKeyDates;
  /** Keys that may sign for longer than they were made for: the set is to be stored with these dates before anything is signed. */
  readonly extend: readonly { readonly kid: string; readonly maxLife: number }[];
  /** `kid`s whose last signature can no longer be valid. */
  readonly remove: readonly string[];
  /** When the plan changes next, in epoch milliseconds. */
  readonly nextChange: number;
}

/**
 * Plans the next step for the signing keys. Keys follow each other by `activeFrom`. When the active key was revoked, its predecessor signs
 * on while it is still there, else the next one, already published, at once. Pure: the same keys, time and policy give the same plan on
 * every replica.
 */
export function planSigningKeys(
  keys: readonly SigningKey[],
  now: number,
  policy: SigningKeyPolicy,
): SigningKeyPlan {
  const sorted = [...keys].sort(bySuccession);
  const active = sorted.findLast(({ activeFrom }) => activeFrom <= now) ?? sorted[0];
  const maxLife = policy.maxTokenLife;
  if (active === undefined) {
    return {
      create: { createdAt: now, activeFrom: now, maxLife },
      extend: [],
      remove: [],
      nextChange: now,
    };
  }
  const next = sorted[sorted.indexOf(active) + 1];
  const due = active.activeFrom + policy.rotation - policy.publishAhead;
  const activeFrom = Math.max(active.activeFrom + policy.rotation, now + policy.publishAhead);
  const ends = endsOf(sorted, active, policy);
  return {
    active,
    ...(next === undefined && due <= now && { create: { createdAt: now, activeFrom, maxLife } }),
    extend: [active].filter((key) => key.maxLife < maxLife).map(({ kid }) => ({ kid, maxLife })),
    remove: ends.filter(({ end }) => end <= now).map(({ kid }) => kid),
    nextChange: Math.min(
      next?.activeFrom ?? Math.max(due, now),
      ...ends.map(({ end }) => Math.max(end, now)),
    ),
  };
}

/** When the last signature of each former key ends: it may have signed until its successor began. */
function endsOf(sorted: readonly SigningKey[], active: SigningKey, policy: SigningKeyPolicy) {
  return sorted.slice(0, sorted.indexOf(active)).map(({ kid, maxLife }, index) => {
    const successor = sorted[index + 1] ?? active;
    return { kid, end: successor.activeFrom + maxLife * 1000 + policy.leeway };
  });
}

function bySuccession(one: SigningKey, other: SigningKey): number {
  return (
    one.activeFrom - other.activeFrom || one.createdAt - other.createdAt || (one.kid < other.kid ? -1 : 1)
  );
}
