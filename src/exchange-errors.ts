/** Errors of the token exchange, part of the catalogue. They are answered as RFC 6749 says. */
export const exchangeErrors = {
  ERR_EXCHANGE_REQUEST: {
    message: 'the token request cannot be used: {problem}',
    fix: 'Send a form with grant_type, subject_token and subject_token_type, as RFC 8693 has them.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_TOKEN: {
    message: 'the subject token is not accepted: {problem}',
    fix: 'Get a new token from its issuer, for this audience, and send it at once.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_ISSUER: {
    message:
      'the subject token is of no issuer that is trusted here for this, and of no ServiceAccount that is named',
    fix: 'Ask who runs the platform to name its issuer in LATCHKEY_TRUSTED_ISSUERS. Without audience, the issuer needs login.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_TARGET: {
    message: 'no access key {audience} takes this token',
    fix: 'Compare the claims of the token with spec.exchange of the key. Each claim there must be in the token, with exactly that text.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_KEY: {
    message: 'the access key {audience} takes this token, and grants nothing now: {problem}',
    fix: 'Ask its owner.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_USED: {
    message: 'the subject token was exchanged before',
    fix: 'Get a new token from its issuer. Each is exchanged once.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_LOGIN: {
    message: 'this token is no login: {problem}',
    fix: 'Ask who runs the platform: the setting LATCHKEY_TRUSTED_ISSUERS says how a token becomes a user with groups.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_LOCKED: {
    message: 'a lock of the platform stops what this token would be exchanged for',
    fix: 'Ask an administrator of the platform.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_REFUSED: {
    message: 'no key can be made for this token: {problem}',
    fix: 'Ask the owner of the access key, or who runs the platform.',
    httpStatus: 400,
  },
  ERR_EXCHANGE_UNAVAILABLE: {
    message: 'tokens cannot be exchanged now: {problem}',
    fix: 'Get a new token after the time in `Retry-After`, and try again.',
    httpStatus: 503,
  },
} as const;
