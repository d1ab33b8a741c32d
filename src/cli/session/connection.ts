import { readFileSync } from 'node:fs';
import { defined } from '../../api/json.ts';
import { type Connection, Platform } from '../gateway/platform.ts';
import { type Context, type Invocation, type OptionSpec, textOption } from '../shared/context.ts';
import { Failure, usage } from '../shared/failure.ts';
import { readKey, readKeyFile } from './key-input.ts';
import { findSession, type Session } from './sessions.ts';

/** Of every command that speaks to a gateway. */
export const connectionOptions = {
  'base-url': {
    type: 'string',
    value: 'URL',
    about: 'The gateway (LATCHKEY_BASE_URL). Default: that of the last login.',
  },
  'certificate-authority': {
    type: 'string',
    value: 'FILE',
    about: 'PEM of the authority to trust (LATCHKEY_CERTIFICATE_AUTHORITY).',
  },
  'key-file': {
    type: 'string',
    value: 'FILE',
    about: 'A file with the key (LATCHKEY_ACCESS_KEY_FILE). Default: LATCHKEY_ACCESS_KEY, then the login.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

const fix =
  'Give `--base-url https://…`, set LATCHKEY_BASE_URL, or run `latchkey login --base-url https://…`.';

/** A base URL in the form that it is kept and compared in. Throws a Failure. */
export function readBaseURL(text: string): string {
  const url = URL.parse(/^[\w.-]+(?::\d+)?(?:\/|$)/.test(text) ? `https://${text}` : text);
  if (url === null) throw usage(`${JSON.stringify(text)} is no URL`, fix);
  if (url.protocol !== 'https:')
    throw usage(`the base URL ${text} does not begin with https://`, 'A key goes over TLS alone.');
  if (url.username !== '' || url.password !== '')
    throw usage('the base URL holds a user name or password', 'Take away all before the @.');
  if (url.search !== '' || url.hash !== '')
    throw usage('the base URL has a query', 'Take away all from the ? on.');
  // People copy it out of a kubeconfig.
  return `${url.origin}${url.pathname}`.replace(/\/kubernetes(?:\/.*)?$/, '').replace(/\/+$/, '');
}

/** The gateway that a command is for, without a key. Throws a Failure. */
export function readPlace(
  invocation: Invocation,
  context: Pick<Context, 'env' | 'platform'>,
): Connection & { readonly session?: Session } {
  const given = textOption(invocation, 'base-url') ?? (context.env['LATCHKEY_BASE_URL'] || undefined);
  const session = findSession(context, given === undefined ? undefined : readBaseURL(given));
  const baseURL = given === undefined ? session?.baseURL : readBaseURL(given);
  if (baseURL === undefined) throw usage('no gateway is named', fix);
  const caFile =
    textOption(invocation, 'certificate-authority') ??
    (context.env['LATCHKEY_CERTIFICATE_AUTHORITY'] || undefined);
  const ca = caFile === undefined ? session?.ca : readAuthority(caFile);
  return defined({ baseURL, ca, session });
}

function readAuthority(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure('usage', `the authority ${file} cannot be read`, 'Give a PEM file that you may read.', {
      cause: error,
    });
  }
  if (/^-----BEGIN CERTIFICATE-----$/m.test(text)) return text;
  throw usage(`${file} holds no certificate in PEM`, 'It must begin with -----BEGIN CERTIFICATE-----.');
}

/** Where the key of a command comes from: an option counts before a variable, and both before the login. */
export function findKey(
  invocation: Invocation,
  context: Pick<Context, 'env' | 'platform'>,
  session?: Session,
): string | undefined {
  const file = textOption(invocation, 'key-file');
  if (file !== undefined) return readKeyFile(file, context);
  const { LATCHKEY_ACCESS_KEY: text, LATCHKEY_ACCESS_KEY_FILE: named } = context.env;
  if (text) return readKey(text, 'LATCHKEY_ACCESS_KEY');
  return named ? readKeyFile(named, context) : session?.key;
}

/** The gateway, as the holder of a key. Throws a Failure. */
export function connect(invocation: Invocation, context: Context): Platform {
  const { session, ...place } = readPlace(invocation, context);
  const key = findKey(invocation, context, session);
  if (key === undefined) throw noKey(place.baseURL);
  if (key === session?.key && session.end !== undefined && session.end <= context.now())
    throw new Failure('unauthenticated', 'the key of your login has ended', 'Run `latchkey login`.');
  return new Platform({ ...place, key }, context);
}

export const noKey = (baseURL: string): Failure =>
  new Failure(
    'unauthenticated',
    `there is no key for ${baseURL}`,
    'Run `latchkey login`, or name a file with `--key-file` or LATCHKEY_ACCESS_KEY_FILE.',
  );
