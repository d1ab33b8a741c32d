import { type Problem, reasons } from '../../api/reasons.ts';
import { AddressRefused } from './addresses.ts';
import type { KubeConfigSource } from './target-record.ts';
import { UntrustedServerError } from './untrusted/untrusted-server-error.ts';

/** Why a target cannot be used. The message names the fix; nothing of it comes from the target or its kubeconfig. */
export type TargetProblem = Problem;

/**
 * The problem of the target that a failed request shows. `undefined` when it says nothing: the error of our own API server, of
 * the write guard, or an answer that is about the object that was asked for (404, 409, 422, …).
 */
export function targetProblemOf(error: unknown): TargetProblem | undefined {
  if (error instanceof AddressRefused) return addressProblem(error.problem);
  if (!(error instanceof UntrustedServerError)) return undefined;
  switch (error.code) {
    case 'ERR_KUBE_STATUS':
      return problemOfStatus(error.status);
    case 'ERR_KUBE_UNREACHABLE':
      return targetProblemOf(error.cause) ?? problemOfConnection(error.causeCode ?? '');
    case 'ERR_KUBE_TIMEOUT':
      return problems.silent;
    case 'ERR_KUBE_RESPONSE':
      return problems.answer;
  }
}

/** Takes the end of a sentence, as {@link AddressRefused} has it. */
export function addressProblem(problem: string): TargetProblem {
  const fix =
    'change the server of the kubeconfig (an instance may name another in spec.server when you create it), or add the address to LATCHKEY_TARGET_ADDRESSES';
  const message = `The address of the target may not be dialled, because ${problem}: ${fix}.`;
  return { reason: reasons.addressRefused, message };
}

/**
 * The same with the server that was dialled. A Secret may hold what its reader may not see, so a server that stands in it is told by
 * its place.
 */
export function withDialledServer(
  problem: TargetProblem,
  dialled: URL,
  source: KubeConfigSource,
): TargetProblem {
  if (problem.reason !== reasons.targetUnreachable) return problem;
  return { ...problem, message: `${problem.message} Latchkey dials ${describeServer(dialled, source)}.` };
}

function describeServer({ host }: URL, { server, service, namespace, name }: KubeConfigSource): string {
  if (server !== undefined) return `${host}, from spec.server`;
  return service !== undefined && new URL(service).host === host
    ? `${host}, the Service of the virtual cluster`
    : `the server that the kubeconfig in the Secret ${namespace}/${name} names`;
}

/** The schema lets no such value in; what was stored without it is judged here. */
export const serverRefused: TargetProblem = {
  reason: reasons.kubeConfigRefused,
  message:
    'spec.server is not an https URL without user name, password, query and fragment: delete the instance, and create it with another server or with none.',
};

const problems = {
  unreachable: {
    reason: reasons.targetUnreachable,
    message:
      'The target cannot be reached: check the server of the kubeconfig, its DNS name, and the network between.',
  },
  silent: {
    reason: reasons.targetUnreachable,
    message: 'The target did not answer in time: check its load and the network between.',
  },
  untrusted: {
    reason: reasons.targetNotTrusted,
    message:
      'The certificate of the target does not belong to the authority in the kubeconfig, or is not valid now: correct certificate-authority-data, or renew the certificate.',
  },
  otherHost: {
    reason: reasons.targetNotTrusted,
    message:
      'The certificate of the target is for another host: use a server in the kubeconfig that the certificate names.',
  },
  noTLS: {
    reason: reasons.targetNotTrusted,
    message:
      'No TLS connection can be made with the target: check that the server of the kubeconfig is an API server and takes its client certificate.',
  },
  unauthorized: {
    reason: reasons.targetUnauthorized,
    message: 'The target does not accept the credentials: renew the kubeconfig in the Secret.',
  },
  forbidden: {
    reason: reasons.targetForbidden,
    message:
      'The target does not allow what Latchkey needs there: put the kubeconfig of an administrator into the Secret.',
  },
  failing: {
    reason: reasons.targetAnswer,
    message: 'The target answers that it is overloaded or has failed: look at its API server.',
  },
  answer: {
    reason: reasons.targetAnswer,
    message:
      'The target answers as no API server does (a redirect, no JSON, or too much): check the server of the kubeconfig.',
  },
} as const satisfies Record<string, TargetProblem>;

function problemOfStatus(status: number): TargetProblem | undefined {
  if (status === 401) return problems.unauthorized;
  if (status === 403) return problems.forbidden;
  return status === 429 || status >= 500 ? problems.failing : undefined;
}

function problemOfConnection(code: string): TargetProblem {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return problems.otherHost;
  if (certificateCode.test(code)) return problems.untrusted;
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code)) return problems.noTLS;
  return /^(HPE_|UND_ERR_HEADERS_OVERFLOW$|UND_ERR_RES_)/.test(code) ? problems.answer : problems.unreachable;
}

/** The names of OpenSSL's verification errors, as Node gives them. */
const certificateCode =
  /^(UNABLE_TO_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|ERROR_IN_CERT_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|UNSPECIFIED$)/;
