import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asObject, asText, parseJSON } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';
import { Failure, printable, usage } from '../shared/failure.ts';
import { noToken, type Provider, postForm, secureURL } from './provider.ts';

type Surroundings = Pick<Context, 'send' | 'signal' | 'stderr' | 'run' | 'platform'>;

/** People read mail in between. */
const maxWaitMs = 300_000;
const random = (): string => randomBytes(32).toString('base64url');

/** Logs in with a browser on this machine: code and PKCE, over a port of the loopback address. Gives the id_token. Throws a Failure. */
export async function loginInBrowser(provider: Provider, context: Surroundings): Promise<string> {
  if (provider.authorizationEndpoint === undefined)
    throw usage(`${provider.issuer} offers no login with a browser`, 'Add `--device`.');
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const secrets = { state: random(), nonce: random(), verifier: random() };
    const redirect = `http://127.0.0.1:${port}/callback`;
    const page = pageFor(provider.authorizationEndpoint, { provider, redirect, ...secrets });
    const answer = awaitAnswer(server, secrets.state, context.signal);
    context.stderr.write(printable(`Log in at ${page}\nNo browser here? Run \`latchkey login --device\`.\n`));
    void openBrowser(page, context);
    const found = await answer;
    const from = found.get('iss');
    // Also where its document says that it does not name itself: a provider may send people to another one.
    if (from === null ? provider.namesItself : from !== provider.issuer)
      throw new Failure(
        'failure',
        'the answer came from another provider',
        'Log in again, and close other windows first.',
      );
    const code = found.get('code');
    if (code === null) throw refused(found.get('error') ?? 'no code');
    return await redeem(code, { provider, redirect, ...secrets }, context);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

interface Attempt {
  readonly provider: Provider;
  readonly redirect: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

function pageFor(endpoint: string, { provider, redirect, state, nonce, verifier }: Attempt): string {
  const url = secureURL(endpoint, 'the provider');
  const query = {
    response_type: 'code',
    client_id: provider.clientID,
    redirect_uri: redirect,
    scope: provider.scope,
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** The query that the browser brings back. Others on this machine may ask the port too: without the state nothing counts. */
async function awaitAnswer(server: Server, state: string, signal: AbortSignal): Promise<URLSearchParams> {
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const url = URL.parse(request.url ?? '', 'http://127.0.0.1');
    const isIt = url?.pathname === '/callback' && url.searchParams.get('state') === state;
    response.writeHead(isIt ? 200 : 404, {
      'content-type': 'text/plain; charset=utf-8',
      connection: 'close',
    });
    response.end(
      isIt ? 'You can close this window, and go on in the terminal.\n' : 'There is nothing here.\n',
    );
    if (isIt) resolve(url.searchParams);
  });
  const timer = setTimeout(
    () =>
      reject(new Failure('failure', 'no one logged in within five minutes', 'Run `latchkey login` again.')),
    maxWaitMs,
  );
  const stop = () => reject(new Failure('failure', 'the login was stopped', 'Run `latchkey login` again.'));
  signal.addEventListener('abort', stop, { once: true });
  return await promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  });
}

const openers: Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Where none opens, the person opens the page that stands in the terminal. */
async function openBrowser(
  page: string,
  { run, platform }: Pick<Context, 'run' | 'platform'>,
): Promise<void> {
  const [program, ...args] = openers[platform] ?? ['xdg-open'];
  await run(program, [...args, page]).catch(() => undefined);
}

async function redeem(
  code: string,
  attempt: Attempt,
  context: Pick<Context, 'send' | 'signal'>,
): Promise<string> {
  const { provider, redirect, nonce, verifier } = attempt;
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirect,
    client_id: provider.clientID,
    code_verifier: verifier,
  };
  const { status, body } = await postForm(provider.tokenEndpoint, form, context);
  const token = asText(body['id_token']);
  if (status !== 200) throw refused(asText(body['error']) ?? `status ${status}`);
  if (token === undefined) throw noToken();
  if (claimsOf(token)['nonce'] !== nonce)
    throw new Failure('failure', 'the provider answered another login', 'Run `latchkey login` again.');
  return token;
}

/** The gateway checks the signature. */
const claimsOf = (token: string) =>
  asObject(parseJSON(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')));

const refused = (error: string): Failure =>
  new Failure(
    'failure',
    `the login failed at the provider (${printable(error)})`,
    'Try again, or ask who runs the provider.',
  );
