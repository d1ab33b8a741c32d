import type { Person } from './people.ts';

const mayChange =
  'spec, metadata: only the user that it speaks for and its creator may change it, so act as one of them (kubectl --as). Others may delete it with the verb get or revoke on it. With get, or with revoke and patch, they may set spec.disabled to true, and remove finalizers from what is being deleted';

/** Said to those who may get it. */
export const notTheirs = [403, mayChange] as const;

/** Of the mutating policy, to all others: what it answers with is the name of an operation that does not exist. */
export const notTheirsUnread = [403, `JSON Patch: Unexpected kind: ${mayChange}`] as const;

const readers: readonly Person[] = ['root', 'platform', 'master', 'demoted', 'argocd'];

export const notTheirsTo = (who: Person) => (readers.includes(who) ? notTheirs : notTheirsUnread);

/** Of the same to those who may get it, when they have not the rights that a change of the spec takes: the API server prints one of them. */
export const notTheirsNorPermitted = [
  403,
  /^spec(, metadata: only the user that|\.user: a key for another user|\.groups\[0\]: a group is given|\.secretRef: you need the verbs|\.virtualClusterInstance: a kubeconfig without)/,
] as const;

export const notTheirsToDelete = [
  403,
  'metadata.name: only the user that it speaks for and its creator may delete it, so act as one of them (kubectl --as); others need the verb get or revoke on it',
] as const;

export const notTheirsToSee = [
  403,
  'a dry-run delete shows the object and so needs the verb get on it; delete without dry run',
] as const;

/** Strips who asked, about what, and the code. These are the same in all rows of a rule: names.test.ts looks at them. */
export const withoutNames = (message: string): string =>
  message.replace(/^.*? denied request: /s, '').replace(/ \(requester ".*", code ERR_POLICY_[A-Z_]+\)$/, '');
