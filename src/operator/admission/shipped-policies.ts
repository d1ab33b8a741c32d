/** Version of the policies in `config/admission` that this operator relies on: the value of the label `labels.policyVersion`. */
export const policyVersion = '3';

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
  'identity',
  'last-applied',
  'ownership',
  'requester',
];
const validating = [
  'delete',
  'dry-run-delete',
  'groups',
  'last-applied',
  'owner-references',
  'ownership',
  'platform-fields',
  'secret-reference',
  'site-defaults',
  'site-policy',
  'site-policy-anchor',
  'site-policy-values',
  'speaking',
  'stamps',
  'status',
  'target-secrets',
  'use',
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
