import { delegation } from './definitions/delegation.ts';
import { credentialDelete } from './definitions/delete.ts';
import { dryRunDelete } from './definitions/dry-run-delete.ts';
import { keptFields } from './definitions/kept-fields.ts';
import { keyDelivery } from './definitions/key-delivery.ts';
import { lastApplied } from './definitions/last-applied.ts';
import { lock } from './definitions/lock.ts';
import { objectSize } from './definitions/object-size.ts';
import { ownerReferences } from './definitions/owner-references.ts';
import { ownership, ownershipBeforeSchema } from './definitions/ownership.ts';
import { requester } from './definitions/requester.ts';
import { requesterIntegrity } from './definitions/requester-integrity.ts';
import { secretReference } from './definitions/secret-reference.ts';
import { status } from './definitions/status.ts';
import { systemObjectsPolicy } from './definitions/system-objects.ts';
import { targetSecrets } from './definitions/target-secrets.ts';
import type { Policy } from './policy.ts';

/** Raise it with every release that changes a policy. Operators take policies of a newer version for their successor's. */
export const policyVersion = 9;

/** The policies of each file of `config/admission`, in the order in which they are applied; a definition has the same name. */
export const policyFiles: Readonly<Record<string, readonly Policy[]>> = {
  requester: [requester],
  'requester-integrity': [requesterIntegrity],
  'kept-fields': [keptFields],
  'last-applied': [lastApplied],
  status: [status],
  'dry-run-delete': [dryRunDelete],
  lock: [lock],
  delegation: [delegation],
  'secret-reference': [secretReference],
  'key-delivery': [keyDelivery],
  'target-secrets': [targetSecrets],
  'owner-references': [ownerReferences],
  'object-size': [objectSize],
  ownership: [ownershipBeforeSchema, ownership],
  delete: [credentialDelete],
  'system-objects': [systemObjectsPolicy],
};
