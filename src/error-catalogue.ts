import { exchangeErrors } from './exchange-errors.ts';

/** The meaning of each exit code of the process. Documented in docs/reference/reasons.md. */
export const exitCodes = { success: 0, failure: 1, usage: 2 } as const;

export interface CatalogueEntry {
  /** Shown to people; `{name}` stands for a value that is given with the error. Never takes a secret. */
  readonly message: string;
  /** The way out for a reader. */
  readonly fix: string;
  /** Exit code of the process when the error ends it. */
  readonly exitCode?: number;
  /** Status of the answer when the error ends an HTTP request. */
  readonly httpStatus?: number;
  /** The field of the request that a 422 is about. */
  readonly field?: string;
}

/**
 * Every error that Latchkey raises by itself. Codes are stable: scripts and alerts may compare them. What admission policies
 * refuse is in `tools/policies/policy-errors.ts`.
 * Bugs of the calling code are plain TypeErrors and have no entry here.
 */
export const errorCatalogue = {
  ERR_NODE_VERSION: {
    message: 'Latchkey needs Node {minimum} or newer; this is Node {version}',
    fix: 'Install a newer Node, or use the container image.',
    exitCode: exitCodes.failure,
  },
  ERR_COMMAND_UNKNOWN: {
    message: 'unknown command "{command}"; the commands are: {commands}',
    fix: 'Run `latchkey --help` to see the commands.',
    exitCode: exitCodes.usage,
  },
  ERR_USAGE: {
    message: '{problem}',
    fix: 'Run `latchkey --help`. Commands take their settings from the environment, not from options.',
    exitCode: exitCodes.usage,
  },
  ERR_SETTINGS_INVALID: {
    message: 'the settings are not usable:\n{problems}',
    fix: 'Each line names a variable and what to write. docs/reference/settings.md lists all of them.',
    exitCode: exitCodes.usage,
  },
  ERR_LISTEN: {
    message: 'cannot listen on {address} for {purpose}: {cause}',
    fix: 'Set a free address, or stop the process that listens there.',
    exitCode: exitCodes.failure,
  },
  ERR_CERTIFICATE: {
    message: 'the serving certificate in {file} cannot be used: {cause}',
    fix: 'Set LATCHKEY_TLS_FOLDER to a folder with a certificate chain in tls.crt and its private key in tls.key, as PEM.',
    exitCode: exitCodes.usage,
  },
  ERR_KUBECONFIG: {
    message: 'cannot use the kubeconfig: {problem}',
    fix: 'Set KUBECONFIG to a readable file with a current context, or run inside a cluster with a ServiceAccount.',
    exitCode: exitCodes.usage,
  },
  ERR_KUBERNETES_VERSION: {
    message: 'Latchkey needs Kubernetes {minimum} or newer; the API server is {version}',
    fix: 'Upgrade the control plane.',
    exitCode: exitCodes.failure,
  },
  ERR_INSTALLATION: {
    message: 'the installation is not complete: {problem}',
    fix: 'Run `kubectl apply -k config/default` with the same release. Do not rename its namespace, accounts and policies.',
    exitCode: exitCodes.failure,
  },
  ERR_LEADERSHIP_LOST: {
    message: 'this process does not lead, or no longer: {action} was not sent',
    fix: 'You do nothing: another replica leads, or this one takes the lease again.',
    exitCode: exitCodes.failure,
  },
  ERR_KUBE_STATUS: {
    message: 'the API server answered {status} {reason} to {verb} {resource}',
    fix: 'The reason says what to do. Forbidden: grant the right. NotFound: create the object. Conflict, TooManyRequests, InternalError: Latchkey retries.',
  },
  ERR_KUBE_UNREACHABLE: {
    message: 'cannot reach the API server: {cause}',
    fix: 'Check address, network and certificate authority. Latchkey retries with back-off.',
  },
  ERR_KUBE_TIMEOUT: {
    message: 'no answer to {verb} {resource} within {milliseconds} ms',
    fix: 'Check the load of the API server. Latchkey retries with back-off.',
  },
  ERR_KUBE_RESPONSE: {
    message: 'unusable answer to {verb} {resource}: {problem}',
    fix: 'Look for a proxy between Latchkey and the API server that changes answers.',
  },
  ERR_TARGET_ADDRESS: {
    message: 'the address of a target may not be dialled: {problem}',
    fix: 'Change the server of the administrator kubeconfig, or add the address to `LATCHKEY_TARGET_ADDRESSES`.',
  },
  ERR_GATEWAY_AUTHORITY: {
    message:
      'the Secret {secret} is not that of the operator, which cannot sign a certificate for the gateway',
    fix: 'Delete this Secret in latchkey-system, and the operator makes its own. Or give the gateway a certificate in latchkey-gateway-tls.',
  },
  ERR_CLUSTER_PROFILE_TAKEN: {
    message: 'the ClusterProfile {name} in {namespace} is not that of Latchkey, and is left as it is',
    fix: 'Delete or rename that object, or set LATCHKEY_CLUSTER_PROFILES_NAMESPACE to a namespace of its own.',
  },
  ERR_ADMISSION_MISSING: {
    message:
      'nothing new is confirmed while {missing} admission policies or bindings are missing, older or edited',
    fix: 'Run `kubectl apply -k config/admission` with the same release. `/readyz/admission` names what is missing.',
  },
  ERR_ADMISSION_UNSEEN: {
    message:
      'nothing new is confirmed before the operator has seen the last change of the admission policies',
    fix: 'The operator goes on by itself. If this lasts, `/readyz` of the operator says which watch brings no news.',
  },
  ERR_REQUEST_MALFORMED: {
    message: 'the request is refused: {problem}',
    fix: 'Send plain HTTP/1.1, as curl and kubectl do. Look for a proxy in front of Latchkey that changes requests.',
    httpStatus: 400,
  },
  ERR_REQUEST_SCHEME: {
    message: 'the request came as plain http, and this port speaks https',
    fix: 'Write https:// in the address, as in the server of your kubeconfig.',
    httpStatus: 400,
  },
  ERR_REQUEST_METHOD: {
    message: 'the method is not served; use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS',
    fix: 'Use one of these methods, in capital letters.',
    httpStatus: 405,
  },
  ERR_REQUEST_TIMEOUT: {
    message: 'the request did not arrive in time',
    fix: 'Send a request at once, head and body. Look for a slow network or a proxy that holds requests back.',
    httpStatus: 408,
  },
  ERR_REQUEST_URL: {
    message: 'the URL is longer than {limit} bytes',
    fix: 'Shorten the query: split selectors, or send fewer names at once.',
    httpStatus: 414,
  },
  ERR_REVIEW_UNREADABLE: {
    message: 'the gateway cannot read the access review, so it cannot say what the scope allows: {problem}',
    fix: 'Send it as application/json, application/yaml or application/vnd.kubernetes.protobuf.',
    httpStatus: 415,
  },
  ERR_REQUEST_EXPECTATION: {
    message: 'an expectation other than 100-continue is not met',
    fix: 'Leave out the header `Expect`.',
    httpStatus: 417,
  },
  ERR_TARGET_UNKNOWN: {
    message: 'there is no such cluster, space or virtual cluster, or it is being deleted',
    fix: 'Check the path: /cluster/<name>, /project/<project>/space/<name> or /project/<project>/virtualcluster/<name>.',
    httpStatus: 404,
  },
  ERR_TARGET_NOT_CONNECTED: {
    message: 'the platform has no access to this target yet',
    fix: 'Look at the conditions of the object, which say why: `kubectl get virtualclusterinstances,clusters -A`.',
    httpStatus: 503,
  },
  ERR_PLATFORM_FIELD: {
    message:
      'spec.{field} is set by the platform, which has the verb manage-platform-fields on ownedaccesskeys',
    fix: 'Leave it out of a new key, and unchanged in a change. A type may be `User` or `Other`. Or have `manage-platform-fields` granted.',
    httpStatus: 403,
  },
  ERR_TARGET_ENTRY: {
    message: 'User "{user}" needs the verb "{verb}" on {object}{note}',
    fix: 'Correct the name, where it is a typing error. Or have a role with this verb bound to the user: latchkey-use for virtual clusters (latchkey-use-as-admin for client certificates), latchkey-use-space, latchkey-use-cluster, and latchkey-direct-endpoint for the agent of a direct endpoint.',
    httpStatus: 403,
  },
  ERR_TOO_MANY_REQUESTS: {
    message: 'too many requests of {owner} are under way',
    fix: 'Try again after the time in `Retry-After`, and send fewer at the same time.',
    httpStatus: 429,
  },
  ERR_TOO_MANY_UNAUTHENTICATED: {
    message: 'too many requests from this address carry no credential that is accepted',
    fix: 'Look for a client there that goes on with an old or missing credential. Requests with a live credential pass.',
    httpStatus: 429,
  },
  ERR_REQUEST_HEADERS: {
    message: 'the headers are larger than {bytes} bytes or more than {fields} fields',
    fix: 'Send fewer headers. Cookies of a browser are a usual cause.',
    httpStatus: 431,
  },
  ERR_REQUEST_VERSION: {
    message: 'only HTTP/1.1 is served',
    fix: 'Use a client or a proxy that speaks HTTP/1.1 to Latchkey.',
    httpStatus: 505,
  },
  ERR_UNAUTHENTICATED: {
    message: 'not authenticated: {problem}',
    fix: 'Send `Authorization: Bearer` with an access key or token whose object is Ready.',
    httpStatus: 401,
  },
  ERR_CREDENTIAL_LOCKED: {
    message: 'a lock of the platform stops this credential',
    fix: 'The condition `Ready` of its object names the lock. Ask an administrator of the platform, who sees why: `latchkey locks`.',
    httpStatus: 401,
  },
  ERR_IMPERSONATION: {
    message: 'a request with a credential cannot impersonate',
    fix: 'Leave out the `Impersonate-` headers (kubectl: `--as`). Use a credential of that user.',
    httpStatus: 403,
  },
  ERR_SCOPE: {
    message: 'out of scope: {problem}',
    fix: 'Widen the scope of the credential, or use another one.',
    httpStatus: 403,
  },
  ERR_CREDENTIAL_KIND: {
    message: 'the gateway does not serve this request about access keys, tokens and kubeconfigs',
    fix: 'Send it to /management with an access key, about an object of your own and not about a subresource.',
    httpStatus: 403,
  },

  // Bodies, objects and operations on credentials of one's own.

  ERR_BODY_UNREADABLE: {
    message: 'the body cannot be read: {problem}',
    fix: 'Send one object as application/json or application/yaml, with each key once.',
    httpStatus: 400,
  },
  ERR_BODY_TOO_LARGE: {
    message: 'the body is larger than {bytes} bytes',
    fix: 'Shorten labels, annotations and lists.',
    httpStatus: 413,
  },
  ERR_BODY_TYPE: {
    message: 'the media type of the body is not served here',
    fix: 'Send application/json or application/yaml, without Content-Encoding. Patches: JSON patch, merge patch or apply.',
    httpStatus: 415,
  },
  ERR_NAMESPACE: {
    message: 'no object of a user can be in the namespace {namespace}, where Latchkey keeps its own',
    fix: 'Use the namespace of a project.',
    httpStatus: 403,
  },
  ERR_OBJECT_MISMATCH: {
    message: 'the object in the body does not fit the request: {problem}',
    fix: 'Write what the path says, or leave the field out.',
    httpStatus: 400,
  },
  ERR_OBJECT_TOO_LARGE: {
    message: '{field} is larger than {bytes} bytes',
    fix: 'Shorten it. Long texts belong into an object of their own.',
    httpStatus: 422,
  },
  ERR_OBJECT_NOT_FOUND: {
    message: '{resource}.management.platform.sh "{name}" not found',
    fix: 'Check the name. You find your own objects only; a name that somebody else has stays taken.',
    httpStatus: 404,
  },
  ERR_OBJECT_NAME: {
    message: 'no object and no namespace can have the name that the path holds',
    fix: 'Write the name as it is, encoded once. Names have lower-case letters, digits, "-" and "." only.',
    httpStatus: 400,
  },
  ERR_OBJECT_CONFLICT: {
    message: 'the object was changed, or made again, while the request was under way',
    fix: 'Read it again and repeat the change.',
    httpStatus: 409,
  },
  ERR_OPERATION_UNKNOWN: {
    message: 'the server does not allow this method on this path of {resource}',
    fix: 'Send GET for a list or a watch, POST to the path without a name, and PUT, PATCH or DELETE to that with one.',
    httpStatus: 405,
  },
  ERR_NOT_ACCEPTABLE: {
    message: 'none of the media types in Accept is served here',
    fix: 'Accept application/json or application/yaml. With JSON also Table and PartialObjectMetadata of meta.k8s.io/v1.',
    httpStatus: 406,
  },
  ERR_QUERY: {
    message: 'the query cannot be served: {problem}',
    fix: 'Correct the parameter, or leave it out.',
    httpStatus: 400,
  },
  ERR_QUERY_INVALID: {
    message: 'the query is invalid: {problem}',
    fix: 'Correct the parameter, or leave it out.',
    httpStatus: 422,
    field: 'query',
  },
  ERR_CONTINUE_EXPIRED: {
    message: 'the continue token is too old, or of another credential',
    fix: 'List again from the beginning.',
    httpStatus: 410,
  },
  ERR_VERSION_EXPIRED: {
    message: 'the changes after this resourceVersion are not known any more',
    fix: 'List again, and watch from the resourceVersion of that list.',
    httpStatus: 410,
  },
  ERR_VERSION_NOT_KEPT: {
    message: 'the list is a newer one than that of this resourceVersion, which is not kept',
    fix: 'List again without resourceVersion. To get a newer list, send resourceVersionMatch=NotOlderThan.',
    httpStatus: 410,
  },
  ERR_VERSION_TOO_LARGE: {
    message: 'Too large resource version: {asked}, current: {present}',
    fix: 'Try again, or list without resourceVersion. This replica of the gateway has not seen the version yet.',
    httpStatus: 504,
  },
  ERR_KEY_MALFORMED: {
    message: 'spec.key is neither a plain key nor the SHA-256 of one',
    fix: 'Leave it out, and one is made. Or write 20 to 512 of the characters A-Z a-z 0-9 . _ ~ + / = -, or sha256: and 64 hex digits. A key that begins with lk_ must be whole.',
    httpStatus: 422,
    field: 'spec.key',
  },
  ERR_PATCH: {
    message: 'the patch cannot be applied: {problem}',
    fix: 'Read the object again and compare. Values that are credentials read as their hash, or are left out.',
    httpStatus: 422,
    field: 'patch',
  },
  ERR_PARENT: {
    message:
      'an access key with an end, a scope or a parent makes children of its own only, and spec.accessKey names another key',
    fix: 'Leave spec.accessKey out. For a credential that outlives this key, log in again, or ask an administrator of the platform.',
    httpStatus: 403,
  },
  ERR_CREDENTIAL_LIMITS: {
    message:
      'the access key "{credential}" has an end, a scope or a parent, so it changes only what it made: {problem}',
    fix: 'Log in again, or ask an administrator of the platform. Every credential may be deleted.',
    httpStatus: 403,
  },
  ERR_SECRET_REFERENCE: {
    message:
      'a credential with a scope, or below one with a scope, makes no Secret, and spec.secretRef names one',
    fix: 'Leave spec.secretRef as it is, or out: the answer to a create holds the credential. Or use an access key without a scope.',
    httpStatus: 403,
  },
  ERR_POLICY_LIFE: {
    message: 'the site policy refuses this life: {problem}',
    fix: 'Set the field so, or ask who runs the platform for another limit.',
    httpStatus: 403,
  },
  ERR_POLICY_SCOPE_MISSING: {
    message: 'the site policy asks for a scope: {problem}',
    fix: 'Set `spec.scope`; `{}` allows nothing.',
    httpStatus: 403,
  },
  ERR_QUOTA: {
    message: 'User "{user}" has {count} {resource} already, which is the limit',
    fix: 'Delete what you no longer need, or ask who runs the platform for a higher limit.',
    httpStatus: 429,
  },

  ...exchangeErrors,

  // Answers of the gateway itself.

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
  ERR_AUDIT_UNAVAILABLE: {
    message: 'the audit log of the gateway cannot be written, and nothing is let through without it',
    fix: 'Try again after the time in `Retry-After`. If it lasts, ask who runs the gateway: its log names the cause, and docs/reference/audit.md what to do.',
    httpStatus: 503,
  },
  ERR_ENDPOINT_TARGET: {
    message: 'this direct endpoint serves the cluster {cluster} and the spaces in it',
    fix: 'Send other requests to the platform.',
    httpStatus: 404,
  },
  ERR_ENDPOINT_CREDENTIAL: {
    message: 'this direct endpoint of the cluster {cluster} does not accept the credential',
    fix: 'It accepts a DirectClusterEndpointToken while that is Ready, reaches this cluster, and its user may `use` the Cluster. Keys and kubeconfigs are for the platform.',
    httpStatus: 401,
  },
  ERR_WEBHOOK_CREDENTIAL: {
    message: 'the token is not good in the cluster {cluster} any more',
    fix: 'Fetch the present token, or make a new one. It was revoked, locked or replaced, its user may not `use` the Cluster, or has lost a group that the token names. A new token counts after a second.',
    httpStatus: 403,
  },
  ERR_ENDPOINT_OUTAGE: {
    message: 'the direct endpoint of the cluster {cluster} does not know which credentials are good',
    fix: 'Wait until the platform answers again, or go through the platform. `LATCHKEY_ENDPOINT_OUTAGE` says how long the endpoint goes on without it.',
    httpStatus: 503,
  },
  ERR_INDEX_STALE: {
    message: 'the gateway does not know at the moment which credentials are good',
    fix: 'Try again in some seconds. `/readyz?verbose` of the gateway says what it waits for.',
    httpStatus: 503,
  },
  ERR_UPSTREAM_ANSWER: {
    message: 'the target gave an answer that cannot be passed on',
    fix: 'Ask who runs the target. The log of the gateway says what was wrong.',
    httpStatus: 502,
  },
  ERR_UPSTREAM_UNAVAILABLE: {
    message: 'the target cannot be reached, or refuses the gateway',
    fix: 'Try again. If it lasts, ask who runs the platform: the log of the gateway has the cause.',
    httpStatus: 503,
  },
  ERR_UPSTREAM_TIMEOUT: {
    message: 'the request stood still for too long',
    fix: 'Send its body at once and read the answer. Where you do, ask who runs the target why it does not answer.',
    httpStatus: 504,
  },
  ERR_UPSTREAM_BUSY: {
    message: 'too many requests wait for the target',
    fix: 'Try again after the time in `Retry-After`.',
    httpStatus: 503,
  },
  ERR_REQUEST_PATH: {
    message: 'there is nothing at this path; paths begin with {prefix}/management, /cluster or /project',
    fix: 'Check the server in your kubeconfig: it is the base URL and the path of a target.',
    httpStatus: 404,
  },
  ERR_SHUTDOWN_TIMEOUT: {
    message: '{part} did not stop within {milliseconds} ms',
    fix: 'The process ended without it. If it happens again, report the log before this line.',
    exitCode: exitCodes.failure,
  },
  ERR_INTERNAL: {
    message: 'unexpected failure: {cause}',
    fix: 'This is a defect. Report it with the log lines around it.',
    exitCode: exitCodes.failure,
    httpStatus: 500,
  },
} as const satisfies Record<string, CatalogueEntry>;
