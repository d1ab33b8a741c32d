import { Failure } from '../shared/failure.ts';

type Explanation = readonly [problem: string, fix: string];

const retry = 'Try again; if it stays so, ask who runs the gateway.';
const authority =
  'Give the authority of the gateway with `--certificate-authority FILE`, or add it to the ones that this system trusts.';
const clock =
  'Check the clock of this machine; if it is right, the certificate of the gateway must be renewed.';

/** By the code of an error of Node. */
const explanations: Readonly<Record<string, (url: URL) => Explanation>> = {
  ENOTFOUND: ({ hostname }) => [
    `no address is known for ${hostname}`,
    'Check the host in the base URL, and your name servers or VPN.',
  ],
  EAI_AGAIN: ({ hostname }) => [
    `the name servers do not answer about ${hostname}`,
    'Check your network or VPN, and try again.',
  ],
  ECONNREFUSED: ({ host }) => [`nothing listens at ${host}`, 'Check the host and port in the base URL.'],
  ECONNRESET: ({ host }) => [`${host} ended the connection`, retry],
  EPIPE: ({ host }) => [`${host} ended the connection`, retry],
  EHOSTUNREACH: ({ host }) => [`no way leads to ${host}`, 'Check your network or VPN.'],
  ENETUNREACH: ({ host }) => [`no way leads to ${host}`, 'Check your network or VPN.'],
  ETIMEDOUT: ({ host }) => [
    `${host} does not answer`,
    'Check your network or VPN, and HTTPS_PROXY and NO_PROXY.',
  ],
  EPROTO: ({ host }) => [
    `${host} does not speak TLS`,
    'Check the port in the base URL: this one may be for plain HTTP.',
  ],
  SELF_SIGNED_CERT_IN_CHAIN: ({ host }) => [
    `the certificate of ${host} is of an authority that is not trusted here`,
    authority,
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: ({ host }) => [
    `the certificate of ${host} is signed by itself, and not trusted here`,
    authority,
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ({ host }) => [
    `the certificate of ${host} is of an authority that is not trusted here`,
    authority,
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ({ host }) => [
    `the certificate of ${host} is of an authority that is not trusted here`,
    authority,
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: ({ host, hostname }) => [
    `the certificate of ${host} is for other names than ${hostname}`,
    'Use a host in the base URL that the certificate names.',
  ],
  CERT_HAS_EXPIRED: ({ host }) => [`the certificate of ${host} has expired`, clock],
  CERT_NOT_YET_VALID: ({ host }) => [`the certificate of ${host} is not valid yet`, clock],
};

/** A failure in the words of the person at the terminal, for an error of the network, TLS or time. */
export function explainNetworkError(error: unknown, url: URL): Failure {
  if (error instanceof Failure) return error;
  const code = codeOf(error);
  const explain = explanations[code];
  const [problem, fix] = explain?.(url) ?? [`${url.host} cannot be reached (${code || 'no reason'})`, retry];
  return new Failure('unavailable', problem, fix, { cause: error });
}

/** An address of each family is tried: the error of the first one says enough. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error.name === 'TimeoutError') return 'ETIMEDOUT';
  if (error.name === 'AbortError') return error.cause instanceof Error ? codeOf(error.cause) : 'ETIMEDOUT';
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  const { code } = error as NodeJS.ErrnoException;
  return code?.startsWith('ERR_SSL_') ? 'EPROTO' : (code ?? '');
}
