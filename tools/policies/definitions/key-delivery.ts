import { cannotRead, inSpec, notExempt } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const storedSpecHadOne = cel`
  type(oldObject.?spec.orValue('')) == map
    && (has(oldObject.spec.secretRef) || has(oldObject.spec.exchange) || oldObject.spec.?key.orValue('') != '')
`;

export const keyDelivery = validating({
  name: 'latchkey-key-delivery',
  protects: 'comfort',
  about: text`
    A key without spec.key and spec.secretRef gets a generated one, which stands in spec.key. If you may not get the object, you never
    see it, and others who may get it do. So you say where the key goes: to a Secret, or nowhere, because you send its hash.

    A key with spec.exchange has none.

    The gateway creates keys with the self-service groups. It answers with the key itself.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    // A spec that was stored so before stays as it is.
    'key-to-be-generated': inSpec(cel`
      object.spec.?key.orValue('') == '' && !has(object.spec.secretRef) && !has(object.spec.exchange)
        && (request.operation == 'CREATE' || (${storedSpecHadOne}))
    `),
    'not-exempt': notExempt,
    // The rest costs several times as much.
    'not-allowed-at-first-sight': cannotRead,
  },
  validations: [
    {
      expression: cel`!(${cannotRead})`,
      ...naming(
        'ERR_POLICY_KEY_DELIVERY',
        line`
        spec.key: you may not get this key, so you would never see what Latchkey generates; set spec.secretRef
        to a Secret that you may read, or spec.key to sha256: and the SHA-256 of a key of your own
      `,
      ),
    },
  ],
});
