/** The part of the error catalogue that is about what the gateway answers itself. */
export const operationErrors = {
  ERR_ISSUER_UNKNOWN: {
    message: 'the gateway does not know at the moment which keys sign tokens',
    fix: 'Try again in some seconds. If it lasts, look whether the operator has a leader: it publishes the keys.',
    httpStatus: 503,
  },
} as const;
