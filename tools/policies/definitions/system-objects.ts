import { labels, systemObjects } from '../../../src/api/names.ts';
import { notExempt } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

/** Of the object as it is going to be, and as it is stored. */
const isOperators = (object: string): string => cel`
  (${object}.metadata.?name.orValue('') == '${systemObjects.discovery}' || ${object}.metadata.?name.orValue('').startsWith('latchkey-revocation-')
    || '${labels.purpose}' in ${object}.metadata.?labels.orValue({}))
`;

export const systemObjectsPolicy = validating({
  name: 'latchkey-system-objects',
  protects: 'security',
  about: text`
    What the operator keeps in ConfigMaps. On the word of a record of certificates to revoke it acts with the administrator
    kubeconfig of a tenant, and verifiers trust the published key set. So only the operator may write either of them; records
    are signed besides. Anyone with the right to may delete them: the operator makes the published set again. Settings and
    site policy are the administrators' own.
  `,
  operations: ['CREATE', 'UPDATE'],
  systemConfigMaps: true,
  matchConditions: {
    'what-the-operator-keeps': cel`
      ${isOperators('object')} || (request.operation == 'UPDATE' && ${isOperators('oldObject')})
    `,
    'not-exempt': notExempt,
  },
  validations: [
    {
      expression: cel`false`,
      ...naming(
        'ERR_POLICY_OPERATOR_ONLY',
        line`
        metadata.name: in latchkey-system the operator alone writes latchkey-oidc-discovery, latchkey-revocation-… and
        ConfigMaps with the label management.platform.sh/purpose; use another name and leave the label out, or delete the object
      `,
      ),
    },
  ],
});
