import { notExempt } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

export const lock = validating({
  name: 'latchkey-lock',
  protects: 'security',
  about: text`
    A lock stops the credentials of anybody, and without it what it stopped works again. So making, changing and deleting one needs
    a verb of its own besides: roles that list the usual verbs for all resources, as those of GitOps tools do, do not hold it.
    The scope of a credential reaches locks by their name only, and a credential that a lock stops reaches nothing.
  `,
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  resources: ['credentiallocks'],
  matchConditions: {
    'not-exempt': notExempt,
  },
  validations: [
    {
      expression: cel`authorizer.group('management.platform.sh').resource('credentiallocks').check('lock').allowed()`,
      ...naming(
        'ERR_POLICY_LOCK',
        line`
        metadata.name: making, changing or deleting a CredentialLock needs the verb lock on credentiallocks, which the ClusterRole
        latchkey-locker holds
      `,
      ),
    },
  ],
});
