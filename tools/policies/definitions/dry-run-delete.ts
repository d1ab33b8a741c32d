import { credentials, onStoredObject, outsideLimitsMessage, outsideLimitsOfDelete } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const dryRunDelete = validating({
  name: 'latchkey-dry-run-delete',
  protects: 'security',
  about: text`
    The answer to a dry-run delete, and to a dry-run deletecollection, is the object: anyone who may delete but not get
    would read the key, and nothing would happen to it. A real delete is never judged here.
  `,
  operations: ['DELETE'],
  resources: credentials,
  matchConditions: {
    'dry-run': cel`request.?dryRun.orValue(false)`,
  },
  validations: [
    {
      expression: cel`!(${outsideLimitsOfDelete})`,
      ...naming('ERR_POLICY_CREDENTIAL_LIMITS', outsideLimitsMessage),
    },
    {
      expression: cel`
        ${onStoredObject}.check('get').allowed()
      `,
      ...naming(
        'ERR_POLICY_DRY_RUN',
        'a dry-run delete shows the object and so needs the verb get on it; delete without dry run',
      ),
    },
  ],
});
