import {
  credentials,
  isCreator,
  isOwner,
  notExempt,
  onStoredObject,
  outsideLimitsMessage,
  outsideLimitsOfDelete,
  storedSpec,
} from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

export const credentialDelete = validating({
  name: 'latchkey-delete',
  protects: 'security',
  about: text`
    Self-service may delete every credential by RBAC, which knows no owners, so a delete is judged by what is stored. Those
    who only revoke hold the verb revoke; anyone who may read the object could use it anyway.
    A failing expression lets the delete pass: nothing may stand in the way of a revocation. So nothing that a requester
    chooses can make these fail. Dry runs need the verb get in any case, see latchkey-dry-run-delete.
  `,
  failurePolicy: 'Ignore',
  operations: ['DELETE'],
  resources: credentials,
  matchConditions: {
    'not-a-dry-run': cel`!request.?dryRun.orValue(false)`,
    'not-exempt': notExempt,
  },
  variables: {
    oldSpec: storedSpec,
    creator: isCreator,
    owner: isOwner,
  },
  validations: [
    {
      expression: cel`!(${outsideLimitsOfDelete})`,
      ...naming('ERR_POLICY_CREDENTIAL_LIMITS', outsideLimitsMessage),
    },
    {
      expression: cel`
        variables.creator || variables.owner
          || ${onStoredObject}.check('get').allowed()
          || ${onStoredObject}.check('revoke').allowed()
      `,
      ...naming(
        'ERR_POLICY_NOT_OWNER',
        line`
        metadata.name: only the user that it speaks for and its creator may delete it, so act as one of them
        (kubectl --as); others need the verb get or revoke on it
      `,
      ),
    },
  ],
});
