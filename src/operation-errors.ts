/** The part of the error catalogue that is about what the gateway answers itself. */
export const operationErrors = {
  ERR_SELF_METHOD: {
    message: 'a Self is not stored: it can only be made',
    fix: 'Send POST to this path without a name (kubectl: `create -f`).',
    httpStatus: 405,
  },
  ERR_PROJECT_METHOD: {
    message: 'a project is a namespace: here it can only be read',
    fix: 'To make one, create the namespace with the label: `kubectl create namespace p-demo`, `kubectl label namespace p-demo management.platform.sh/project=demo`. To end it, delete that namespace. To follow changes, watch namespaces with that label.',
    httpStatus: 405,
  },
  ERR_PROJECT_FORBIDDEN: {
    message: 'User "{user}" needs the verb "get" on projects/{name} in {namespace}',
    fix: 'Correct the name, where it is a typing error. Or have a role with this verb bound to the user in that namespace: latchkey-viewer, latchkey-use, latchkey-use-space.',
    httpStatus: 403,
  },
  ERR_PROJECTS_TOO_MANY: {
    message:
      'there are more than {maxAsked} projects that the scope allows, and User "{user}" may not "get" all of them, so each would have to be asked about',
    fix: 'Ask for one by name. Or use a credential whose scope names its projects. Or have `latchkey-viewer` bound for the whole platform.',
    httpStatus: 403,
  },
  ERR_SELF_ACCESS_KEY: {
    message: 'the access key in spec.accessKey is not accepted: {problem}',
    fix: 'Use a key whose object is Ready. Your own credential, which the request came with, is accepted.',
    httpStatus: 404,
  },
  ERR_KUBECONFIG_FORBIDDEN: {
    message: 'the kubeconfig is refused ({reason}): {problem}',
    fix: 'Ask for the right that the message names, or use a credential of a user who has it.',
    httpStatus: 403,
  },
  ERR_KUBECONFIG_INSTANCE: {
    message: 'there is no such virtual cluster instance ({reason}): {problem}',
    fix: 'Check namespace and name in the path: `kubectl get virtualclusterinstances -A`.',
    httpStatus: 404,
  },
  ERR_KUBECONFIG_ENDPOINT: {
    message: 'the virtual cluster has no address for a kubeconfig ({reason}): {problem}',
    fix: 'Set `spec.accessPoint.ingress` of the instance, or `spec.server` in the body. Without `clientCert` no address is needed.',
    httpStatus: 409,
  },
  ERR_KUBECONFIG_INVALID: {
    message: 'the kubeconfig cannot be issued ({reason}): {problem}',
    fix: 'Correct what the message names, and ask again.',
    httpStatus: 422,
    field: 'spec',
  },
  ERR_KUBECONFIG_PENDING: {
    message: 'the operator has not issued the kubeconfig in time ({reason}): {problem}',
    fix: 'Ask again after the time in `Retry-After`. Nothing is left of this request. If it lasts, look at the instance and the operator.',
    httpStatus: 503,
  },
  ERR_CREDENTIAL_REFUSED: {
    message: 'the operator refuses the {kind} ({reason}): {problem}',
    fix: 'Correct what the message names, and ask again. Nothing is left of this request.',
    httpStatus: 422,
    field: 'spec',
  },
  ERR_OBJECT_EXISTS: {
    message: '{resource} "{name}" already exists',
    fix: 'Leave it as it is, and go on.',
    httpStatus: 409,
  },
  ERR_SPACE_NAMESPACE: {
    message:
      'no namespace is made in a space, which is the namespace "{namespace}" of its cluster and no other',
    fix: 'Use that namespace. For another one, ask who runs the platform for another space.',
    httpStatus: 403,
  },
  ERR_SPACE_MISSING: {
    message:
      'the namespace "{namespace}" of this space does not exist in its cluster, and is not made through the space',
    fix: 'Ask who runs the cluster to create it: the SpaceInstance is not Ready until then.',
    httpStatus: 403,
  },
  ERR_ISSUER_UNKNOWN: {
    message: 'the gateway does not know at the moment which keys sign tokens',
    fix: 'Try again in some seconds. If it lasts, look whether the operator has a leader: it publishes the keys.',
    httpStatus: 503,
  },
} as const;
