/**
 * Every refusal of an admission policy. The API server says it, so the code stands at the end of the message. There is one for each
 * thing to do about it; codes are stable, as in `src/error-catalogue.ts`.
 */
export const policyErrors = {
  ERR_POLICY_NOT_OWNER: {
    message: 'the credential belongs to somebody else',
    fix: 'Act as its user or its creator (`kubectl --as`). To end it, delete it, with the verb `get` or `revoke` on it.',
  },
  ERR_POLICY_CREDENTIAL_LIMITS: {
    message: 'the request came with a limited credential, and goes beyond its limits',
    fix: 'Log in again, or ask an administrator of the platform.',
  },
  ERR_POLICY_DRY_RUN: {
    message: 'a dry-run delete would show the credential',
    fix: 'Delete without dry run, or have the verb `get` on it granted.',
  },
  ERR_POLICY_LOCK: {
    message: 'you may not lock or unlock credentials',
    fix: 'Have the verb `lock` on credentiallocks granted, with the role `latchkey-locker`.',
  },
  ERR_POLICY_IMPERSONATE: {
    message: 'the key is for a user, team, subject or group that you may not impersonate',
    fix: 'Leave the field out, or have the verb `impersonate` on that user or group granted.',
  },
  ERR_POLICY_KEY_DELIVERY: {
    message: 'you may not get the key, and would never see what Latchkey generates',
    fix: 'Set `spec.secretRef`, or write `sha256:` and the SHA-256 of a key of your own to `spec.key`.',
  },
  ERR_POLICY_SECRET_RIGHTS: {
    message: 'you lack a right on the Secret that the object names',
    fix: 'Have the verbs that the message names granted, or name a Secret on which you have them.',
  },
  ERR_POLICY_SYSTEM_NAMESPACE: {
    message: 'the Secret is in a namespace where Latchkey keeps its own',
    fix: 'Name a Secret in another namespace.',
  },
  ERR_POLICY_BIND_NAMESPACE: {
    message: 'you may not have namespaces of the Cluster used',
    fix: 'Have the verb `bind-namespace` on it granted, or name another Cluster.',
  },
  ERR_POLICY_OWNER_REFERENCE: {
    message: 'blockOwnerDeletion would hold up an owner that you may not delete',
    fix: 'Leave `blockOwnerDeletion` out. Or have `delete` on the owner granted, for a credential `get` as well.',
  },
  ERR_POLICY_LOGIN_DATA: {
    message: 'a copy of login data would stay in an annotation',
    fix: 'Use `kubectl create`, `kubectl replace` or `kubectl apply --server-side`.',
  },
  ERR_POLICY_SCOPE_NULL: {
    message: 'spec.scope is null in the manifest, and missing in what was sent',
    fix: 'Write `{}` to allow nothing.',
  },
  ERR_POLICY_TOO_LARGE: {
    message: 'a part of the object is larger than its limit',
    fix: 'Shorten the field that the message names.',
  },
  ERR_POLICY_STAMPS: {
    message: 'only the policies write this annotation or label',
    fix: 'Leave it out. If you did, look whether the policy `latchkey-requester` and its binding are installed.',
  },
  ERR_POLICY_CREDENTIAL_EXTRA: {
    message: 'the user extra about the credential of the request is not as the gateway sets it',
    fix: 'Leave the extra out; only the gateway sends it.',
  },
  ERR_POLICY_FIELD_MANAGER: {
    message: 'the field manager latchkey-operator stands for the operator',
    fix: 'Use another field manager, and leave `metadata.managedFields` as they stand.',
  },
  ERR_POLICY_OPERATOR_ONLY: {
    message: 'only the operator writes this',
    fix: 'Change `spec` instead of the status. For a ConfigMap in latchkey-system, use another name and no label of Latchkey.',
  },
  ERR_POLICY_ACTIVITY: {
    message: 'latchkey-activity may only move status.lastActivity forward',
    fix: 'Check the clocks of the gateway and of the API server. Use this account for nothing else.',
  },
} as const satisfies Record<string, { readonly message: string; readonly fix: string }>;

export type PolicyErrorCode = keyof typeof policyErrors;
