/** The part of the error catalogue that is about what the gateway answers itself. */
export const operationErrors = {
  ERR_SELF_METHOD: {
    message: 'a Self is not stored: it can only be made',
    fix: 'Send POST to this path without a name (kubectl: `create -f`).',
    httpStatus: 405,
  },
  ERR_SELF_ACCESS_KEY: {
    message: 'the access key in spec.accessKey is not accepted: {problem}',
    fix: 'Use a key whose object is Ready. Your own credential, which the request came with, is accepted.',
    httpStatus: 404,
  },
  ERR_ISSUER_UNKNOWN: {
    message: 'the gateway does not know at the moment which keys sign tokens',
    fix: 'Try again in some seconds. If it lasts, look whether the operator has a leader: it publishes the keys.',
    httpStatus: 503,
  },
} as const;
