import { loginFields } from '../../../src/api/names.ts';
import { naming, validating } from '../policy.ts';
import { kappAnnotation, kappChanged, lastAppliedAnnotation, lastAppliedChanged } from '../redaction.ts';
import { cel, line, text } from '../text.ts';

const changedCopy = (annotation: string, isChanged: string): string => cel`
  (${isChanged}) ? object.metadata.annotations[${annotation}] : ''
`;

const loginData = String.raw`r'"(?:${Object.values(loginFields).flat().join('|')})"\s*:\s*"[^"]'`;
const noScope = String.raw`r'"scope"\s*:\s*null'`;

export const lastApplied = validating({
  name: 'latchkey-last-applied',
  protects: 'comfort',
  about: text`
    Two things that kubectl apply would spoil. Login data never comes back from the API, because the operator moves it into a
    Secret; a copy in the annotation would stay. And \`scope: null\`, which allows nothing, is dropped by a client-side apply
    before it is sent: what arrives has no scope and allows everything. kapp keeps the same copy in an annotation of its own.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys', 'directclusterendpointtokens'],
  matchConditions: {
    'annotation-changed': cel`(${lastAppliedChanged}) || (${kappChanged})`,
  },
  variables: {
    // Empty: it is not there, or has been judged.
    applied: changedCopy(lastAppliedAnnotation, lastAppliedChanged),
    kappApplied: changedCopy(kappAnnotation, kappChanged),
  },
  validations: [
    {
      expression: cel`
        !variables.applied.matches(${loginData})
      `,
      ...naming(
        'ERR_POLICY_LOGIN_DATA',
        line`
        spec.identity.connectorData, spec.oidcLogin: kubectl apply would leave a copy of these values in an
        annotation; set them with kubectl create, kubectl replace or kubectl apply --server-side
      `,
      ),
    },
    {
      expression: cel`
        object.?spec.?scope.hasValue()
          || !variables.applied.matches(${noScope})
      `,
      ...naming(
        'ERR_POLICY_SCOPE_NULL',
        line`
        spec.scope: kubectl apply drops null before it sends the object, and without a scope the credential is
        not limited at all; write {} to allow nothing
      `,
      ),
    },
    {
      expression: cel`
        !variables.kappApplied.matches(${loginData})
      `,
      ...naming(
        'ERR_POLICY_LOGIN_DATA',
        line`
        spec.identity.connectorData, spec.oidcLogin: kapp would leave a copy of these values in an annotation; set them
        with kubectl create, kubectl replace or kubectl apply --server-side
      `,
      ),
    },
    {
      expression: cel`
        object.?spec.?scope.hasValue() || !variables.kappApplied.matches(${noScope})
      `,
      ...naming(
        'ERR_POLICY_SCOPE_NULL',
        line`
        spec.scope: null stands in the manifest of kapp and not in the object, and without a scope the credential is not
        limited at all; write {} to allow nothing
      `,
      ),
    },
  ],
});
