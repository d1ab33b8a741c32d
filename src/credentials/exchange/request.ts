/** A request to `/oauth/token` (RFC 8693, 2.1). */
export interface ExchangeRequest {
  readonly subjectToken: string;
  /** The access key that takes the token; absent: a person logs in. */
  readonly audience?: string;
  /** The longest life that the client wants, seconds. */
  readonly expiresIn?: number;
}

/** Errors of RFC 6749, 5.2, and RFC 8693, 2.2.2. */
export type RequestError = 'invalid_request' | 'invalid_scope' | 'invalid_target' | 'unsupported_grant_type';

export type ExchangeReading =
  | { readonly request: ExchangeRequest }
  | { readonly error: RequestError; readonly problem: string };

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const tokenType = (name: string): string => `urn:ietf:params:oauth:token-type:${name}`;
export const accessTokenType = tokenType('access_token');
const subjectTypes: ReadonlySet<string> = new Set([tokenType('id_token'), tokenType('jwt')]);

const maxParameters = 32;

/** Reads a form. No problem quotes a value: any may be a token in the wrong place. */
export function readExchangeRequest(form: string): ExchangeReading {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(form)) {
    // Two readers could take another one of them.
    if (parameters.has(name)) return invalid('a parameter stands there twice');
    if (parameters.size === maxParameters) return invalid(`there are more than ${maxParameters} parameters`);
    // Sent without a value it counts as left out (RFC 6749, 3.2).
    parameters.set(name, value);
  }
  const of = (name: string): string | undefined => parameters.get(name) || undefined;
  return wrongKind(of) ?? readParts(of);
}

type Parameter = (name: string) => string | undefined;

const invalid = (problem: string, error: RequestError = 'invalid_request'): ExchangeReading => ({
  error,
  problem,
});

function wrongKind(of: Parameter): ExchangeReading | undefined {
  const grant = of('grant_type');
  if (grant === undefined) return invalid('grant_type is missing');
  if (grant !== grantType) return invalid(`grant_type must be ${grantType}`, 'unsupported_grant_type');
  if (of('actor_token') ?? of('actor_token_type'))
    return invalid('actor_token: a key speaks for one subject, so leave it out');
  if (of('resource')) return invalid('resource: name an access key in audience instead', 'invalid_target');
  if (of('scope')) return invalid('scope: that of the access key counts, so leave it out', 'invalid_scope');
  if ((of('requested_token_type') ?? accessTokenType) !== accessTokenType)
    return invalid(`requested_token_type must be ${accessTokenType}, or left out`);
  return undefined;
}

function readParts(of: Parameter): ExchangeReading {
  const subjectToken = of('subject_token');
  if (subjectToken === undefined) return invalid('subject_token is missing');
  const type = of('subject_token_type');
  if (type === undefined) return invalid('subject_token_type is missing');
  if (!subjectTypes.has(type))
    return invalid(`subject_token_type must be one of ${[...subjectTypes].join(', ')}`);
  const audience = of('audience');
  if (audience !== undefined && !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(audience))
    return invalid('audience must be the name of an access key', 'invalid_target');
  const wish = of('expires_in');
  const expiresIn = wish === undefined ? undefined : Number(/^[1-9]\d{0,9}$/.exec(wish)?.[0]);
  if (Number.isNaN(expiresIn)) return invalid('expires_in must be a number of seconds');
  return {
    request: {
      subjectToken,
      ...(audience === undefined ? {} : { audience }),
      ...(expiresIn === undefined ? {} : { expiresIn }),
    },
  };
}
