const mayChange =
  'spec, metadata: only the user that it speaks for and its creator may change it, so act as one of them (kubectl --as); others, with the verb get or revoke on it, may delete it, and with get, or with revoke and patch, set spec.disabled to true and remove finalizers from what is being deleted';

/** Of the mutating policy: what it answers with is the name of an operation that does not exist. */
export const notTheirs = [403, `JSON Patch: Unexpected kind: ${mayChange}`] as const;

export const notTheirsToDelete = [
  403,
  'metadata.name: only the user that it speaks for and its creator may delete it, so act as one of them (kubectl --as); others need the verb get or revoke on it',
] as const;

export const notTheirsToSee = [
  403,
  'a dry-run delete shows the object and so needs the verb get on it; delete without dry run',
] as const;
