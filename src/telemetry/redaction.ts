export const censor = '[redacted]';

/** Keys whose value is a secret wherever they stand. */
const secretNames = [
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'bearerToken',
  'kubeConfig',
  'kubeconfig',
  'privateKey',
  'private_key',
  'signingKey',
  'clientKeyData',
  'client-key-data',
  'password',
  'connectorData',
  'oidcLogin',
  'data',
  'stringData',
];

// `key` alone is the usual name of an item of a work queue: only that of a spec is a secret.
const secretPaths = [...secretNames.map((name) => `["${name}"]`), '["spec"]["key"]'];

/** Paths for pino: every secret at the top and up to three levels below. */
export const redactedPaths: readonly string[] = ['', '*', '*.*', '*.*.*'].flatMap((parent) =>
  secretPaths.map((path) => `${parent}${path}`),
);

const shapes = [
  /\blk_[0-9A-Za-z]{20,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g,
  /\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
];

/** The text without access keys, JSON web tokens, private keys in PEM, and Authorization values. */
export function withoutSecrets(text: string): string {
  return shapes.reduce((rest, shape) => rest.replace(shape, censor), text);
}
