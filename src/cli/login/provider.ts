import { asObject, asText, asTexts, type JsonObject, parseJSON } from '../../api/json.ts';
import type { Platform } from '../gateway/platform.ts';
import { type Context, type Invocation, type OptionSpec, textOption } from '../shared/context.ts';
import { Failure, printable, usage } from '../shared/failure.ts';

export const providerOptions = {
  issuer: {
    type: 'string',
    value: 'URL',
    about: 'The provider, where the gateway does not name it (LATCHKEY_LOGIN_ISSUER).',
  },
  'client-id': {
    type: 'string',
    value: 'ID',
    about: 'This command at the provider (LATCHKEY_LOGIN_CLIENT_ID).',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Where people log in. */
export interface Provider {
  readonly issuer: string;
  readonly clientID: string;
  readonly authorizationEndpoint?: string | undefined;
  readonly deviceEndpoint?: string | undefined;
  readonly tokenEndpoint: string;
  readonly scope: string;
  /** Whether its answers name it (RFC 9207), so that those of another one are refused. */
  readonly namesItself: boolean;
}

type Surroundings = Pick<Context, 'env' | 'send' | 'signal'>;

/** The provider that the gateway trusts. Throws a Failure. */
export async function findProvider(
  invocation: Invocation,
  gateway: Platform,
  context: Surroundings,
): Promise<Provider> {
  const { env } = context;
  const given = {
    issuer: textOption(invocation, 'issuer') ?? (env['LATCHKEY_LOGIN_ISSUER'] || undefined),
    clientID: textOption(invocation, 'client-id') ?? (env['LATCHKEY_LOGIN_CLIENT_ID'] || undefined),
  };
  const { issuers, clientIDs } =
    given.issuer !== undefined && given.clientID !== undefined ? nothingNamed : await askGateway(gateway);
  const issuer = given.issuer ?? onlyOne(issuers, gateway);
  const clientID = given.clientID ?? asText(clientIDs[issuer ?? '']);
  if (issuer === undefined || clientID === undefined) throw noProvider(gateway, given.issuer);
  return await readProvider(issuer, clientID, context);
}

function noProvider({ connection }: Platform, issuer: string | undefined): Failure {
  const name = issuer === undefined ? '' : ` by the name ${issuer}`;
  return usage(
    `${connection.baseURL} has no provider to log in at${name}`,
    'Ask for a key and run `latchkey login --with-key < key-file`, or give `--issuer` and `--client-id`.',
  );
}

interface Named {
  readonly issuers: readonly string[];
  /** By issuer. */
  readonly clientIDs: JsonObject;
}

const nothingNamed: Named = { issuers: [], clientIDs: {} };

/** Which of them a person has an account with, only they know. */
function onlyOne(issuers: readonly string[], { connection }: Platform): string | undefined {
  if (issuers.length < 2) return issuers[0];
  throw usage(
    `${connection.baseURL} has several providers to log in at: ${printable(issuers.join(', '))}`,
    'Choose yours with `--issuer`.',
  );
}

/** By RFC 9728. */
async function askGateway(gateway: Platform): Promise<Named> {
  const { baseURL } = gateway.connection;
  const { status, text } = await gateway.send('/.well-known/oauth-protected-resource', { timeoutMs: 10_000 });
  if (status !== 200) return nothingNamed;
  const document = asObject(parseJSON(text));
  const { resource, latchkey_client_id: clientID, latchkey_client_ids: clientIDs } = document;
  if (resource !== baseURL)
    throw usage(
      `the gateway at ${baseURL} calls itself ${printable(JSON.stringify(resource) ?? 'nothing')}`,
      'Give the base URL in exactly that form, or name the provider with `--issuer` and `--client-id`.',
    );
  const issuers = asTexts(document['authorization_servers']);
  const [first] = issuers;
  const isOne = issuers.length === 1 && first !== undefined;
  return { issuers, clientIDs: isOne ? { [first]: clientID } : asObject(clientIDs) };
}

async function readProvider(
  issuer: string,
  clientID: string,
  { send, signal }: Surroundings,
): Promise<Provider> {
  const base = secureURL(issuer, 'the provider').href.replace(/\/$/, '');
  const url = `${base}/.well-known/openid-configuration`;
  const { status, text } = await send({
    ...{ method: 'GET', url, headers: { accept: 'application/json' }, timeoutMs: 10_000, signal },
  });
  const document = asObject(parseJSON(text));
  const tokenEndpoint = asText(document['token_endpoint']);
  if (status !== 200 || tokenEndpoint === undefined)
    throw new Failure(
      'unavailable',
      `${issuer} does not say how to log in (it answers ${status})`,
      'Check the issuer.',
    );
  if (document['issuer'] !== issuer)
    throw new Failure(
      'usage',
      `${issuer} calls itself ${JSON.stringify(document['issuer'])}`,
      'Give the issuer in exactly that form.',
    );
  return {
    issuer,
    clientID,
    tokenEndpoint: secureURL(tokenEndpoint, 'the provider').href,
    scope: scopeFor(asTexts(document['scopes_supported'])),
    authorizationEndpoint: asText(document['authorization_endpoint']),
    deviceEndpoint: asText(document['device_authorization_endpoint']),
    namesItself: document['authorization_response_iss_parameter_supported'] === true,
  };
}

/** Some give groups for a scope of that name alone, and others refuse a scope that they do not have. */
const scopeFor = (supported: readonly string[]): string =>
  ['openid', 'profile', 'email', ...(supported.includes('groups') ? ['groups'] : [])].join(' ');

/** Throws a Failure. */
export function secureURL(text: string, owner: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'https:') return url;
  throw usage(
    `${owner} has the address ${JSON.stringify(text)}, which does not begin with https://`,
    'Ask who runs it.',
  );
}

/** Asks the provider for something by a form. */
export async function postForm(
  url: string,
  form: Readonly<Record<string, string>>,
  { send, signal }: Pick<Context, 'send' | 'signal'>,
) {
  const { status, text } = await send({
    method: 'POST',
    url,
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
    timeoutMs: 15_000,
    signal,
  });
  return { status, body: asObject(parseJSON(text)) };
}

export const noToken = (): Failure =>
  new Failure('failure', 'the provider gave no id_token', 'This client must be allowed the scope openid.');
