/** Condition types of every kind; they follow kstatus. Each is documented in docs/reference/status.md. */
export const conditionTypes = {
  /** True when the credential works now. */
  ready: 'Ready',
  /** True while the operator still has work to do for this generation; absent otherwise. */
  reconciling: 'Reconciling',
  /** True when nothing changes until a person changes something; absent otherwise. */
  stalled: 'Stalled',
  /** True when little of the life is left; absent otherwise. */
  expiringSoon: 'ExpiringSoon',
  /** True when a rotation was asked for that Latchkey cannot make; absent otherwise. */
  rotationNotPossible: 'RotationNotPossible',
  /** True while no project, cluster or instance exists that the scope names; absent otherwise. */
  scopeMatchesNothing: 'ScopeMatchesNothing',
} as const;

export type ConditionType = (typeof conditionTypes)[keyof typeof conditionTypes];

export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

export function findCondition(conditions: readonly Condition[], type: ConditionType): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

/** Whether its condition `Ready` is True. */
export const isReady = ({ conditions }: { readonly conditions: readonly Condition[] }): boolean =>
  findCondition(conditions, conditionTypes.ready)?.status === 'True';
