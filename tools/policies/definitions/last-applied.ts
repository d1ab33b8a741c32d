import { validating } from '../policy.ts';
import { lastAppliedAnnotation, lastAppliedChanged } from '../redaction.ts';
import { cel, line, text } from '../text.ts';

export const lastApplied = validating({
  name: 'latchkey-last-applied',
  about: text`
    Two things that kubectl apply would spoil. Login data never comes back from the API, because the operator moves it into a
    Secret; a copy in the annotation would stay. And \`scope: null\`, which allows nothing, is dropped by a client-side apply
    before it is sent: what arrives has no scope and allows everything.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys', 'directclusterendpointtokens'],
  matchConditions: {
    'annotation-changed': lastAppliedChanged,
  },
  validations: [
    {
      expression: cel`
        !object.metadata.annotations[${lastAppliedAnnotation}]
          .matches(r'"(?:connectorData|idToken|accessToken|refreshToken)"\s*:\s*"[^"]')
      `,
      message: line`
        spec.identity.connectorData, spec.oidcLogin: kubectl apply would leave a copy of these values in an
        annotation; set them with kubectl create, kubectl replace or kubectl apply --server-side
      `,
    },
    {
      expression: cel`
        object.?spec.?scope.hasValue()
          || !object.metadata.annotations[${lastAppliedAnnotation}].matches(r'"scope"\s*:\s*null')
      `,
      message: line`
        spec.scope: kubectl apply drops null before it sends the object, and without a scope the credential is
        not limited at all; write {} to allow nothing
      `,
    },
  ],
});
