/** Version of the policies in `config/admission` that this operator relies on: the value of the label `labels.policyVersion`. */
export const policyVersion = '4';

export type PolicyKind =
  | 'MutatingAdmissionPolicy'
  | 'MutatingAdmissionPolicyBinding'
  | 'ValidatingAdmissionPolicy'
  | 'ValidatingAdmissionPolicyBinding';

/** An object of `admissionregistration.k8s.io/v1`. */
export interface ShippedPolicy {
  readonly kind: PolicyKind;
  readonly name: string;
}

const mutating = [
  'ephemeral',
  'finalizers',
  'generated-key',
  'last-applied',
  'ownership',
  'requester',
];
const validating = [
  'delegation',
  'delete',
  'dry-run-delete',
  'last-applied',
  'owner-references',
  'ownership',
  'platform-fields',
  'requester-integrity',
  'secret-reference',
  'site-defaults',
  'site-policy',
  'site-policy-keepalive',
  'site-policy-values',
  'status',
  'target-secrets',
  'instance-use',
  'warnings',
];

const withBinding = (
  kind: 'MutatingAdmissionPolicy' | 'ValidatingAdmissionPolicy',
  topics: readonly string[],
) =>
  topics.flatMap((topic): ShippedPolicy[] => [
    { kind, name: `latchkey-${topic}` },
    { kind: `${kind}Binding`, name: `latchkey-${topic}` },
  ]);

/** Every policy and binding of `config/admission`. Without any one of them a guarantee is gone, so the operator waits. */
export const shippedPolicies: readonly ShippedPolicy[] = [
  ...withBinding('MutatingAdmissionPolicy', mutating),
  ...withBinding('ValidatingAdmissionPolicy', validating),
];
