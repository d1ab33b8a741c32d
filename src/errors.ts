import { objectErrors } from './object-errors.ts';
import { operationErrors } from './operation-errors.ts';

/** What each process exit code means. Documented in docs/reference/errors.md. */
export const exitCodes = { success: 0, failure: 1, usage: 2 } as const;

interface CatalogueEntry {
  /** Shown to people; `{name}` stands for a value that is given with the error. Never takes a secret. */
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
  /** Exit code of the process when the error ends it. */
  readonly exitCode?: number;
  /** Status of the answer when the error ends an HTTP request. */
  readonly httpStatus?: number;
  /** What of the request a 422 is about. */
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
    fix: 'Set LATCHKEY_TLS_CERT_FILE and LATCHKEY_TLS_KEY_FILE to a certificate chain and its private key, as PEM.',
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
  ERR_ADMISSION_MISSING: {
    message:
      'nothing new is confirmed while {missing} admission policies or bindings are missing, older or edited',
    fix: 'Run `kubectl apply -k config/admission` with the same release. `/readyz/admission` names what is missing.',
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
    fix: 'Leave it out of a new key, and as it stands in a change. A type may be `User` or `Other`. Or have `manage-platform-fields` granted.',
    httpStatus: 403,
  },
  ERR_TARGET_ENTRY: {
    message: 'User "{user}" needs the verb "{verb}" on {object}',
    fix: 'Correct the name, where it is a typing error. Or have a role with this verb bound to the user: latchkey-use for virtual clusters (latchkey-use-as-admin for client certificates), latchkey-use-space, latchkey-use-cluster.',
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
  ...objectErrors,
  ...operationErrors,
  ERR_UPGRADE: {
    message: 'exec, attach, port-forward and other upgraded connections are not served yet',
    fix: 'Use the API server of the target directly.',
    httpStatus: 501,
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

export type ErrorCode = keyof typeof errorCatalogue;

/** The codes that end an HTTP request. */
export type HTTPErrorCode = {
  [Code in ErrorCode]: (typeof errorCatalogue)[Code] extends { readonly httpStatus: number } ? Code : never;
}[ErrorCode];

type Placeholders<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** The values that the message of a code needs. */
export type ErrorValues<Code extends ErrorCode> = Readonly<
  Record<Placeholders<(typeof errorCatalogue)[Code]['message']>, string | number>
>;

/** The catalogue's message of a code with its values filled in. */
export function errorMessage<Code extends ErrorCode>(code: Code, values: ErrorValues<Code>): string {
  const given: Readonly<Record<string, string | number>> = values;
  return errorCatalogue[code].message.replace(/\{(\w+)\}/g, (_, name: string) => String(given[name]));
}

/** An error that Latchkey raises on purpose. `code` is stable, the message is for people. */
export class LatchkeyError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'LatchkeyError';
  readonly code: Code;

  constructor(code: Code, values: ErrorValues<Code>, options?: ErrorOptions) {
    super(errorMessage(code, values), options);
    this.code = code;
  }
}

/** The exit code that an error ends the process with; anything unknown is a failure. */
export function exitCodeOf(error: unknown): number {
  return descriptionOf(error)?.exitCode ?? exitCodes.failure;
}

/** The advice that belongs to an error of the catalogue. */
export function fixOf(error: unknown): string | undefined {
  return descriptionOf(error)?.fix;
}

function descriptionOf(error: unknown): CatalogueEntry | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const catalogue: Readonly<Record<string, CatalogueEntry>> = errorCatalogue;
  return Object.hasOwn(catalogue, String(error.code)) ? catalogue[String(error.code)] : undefined;
}
