import { setTimeout as sleep } from 'node:timers/promises';
import { asCount, asText } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';
import { Failure, printable, usage } from '../shared/failure.ts';
import { noToken, type Provider, postForm } from './provider.ts';

type Surroundings = Pick<Context, 'send' | 'signal' | 'stderr' | 'now'>;

/** Logs in with a code that the person types on another screen (RFC 8628). Gives the id_token. Throws a Failure. */
export async function loginByDevice(
  provider: Provider,
  context: Surroundings,
  wait: (ms: number) => Promise<unknown> = async (ms) =>
    await sleep(ms, undefined, { signal: context.signal }),
): Promise<string> {
  const { clientID, scope, deviceEndpoint } = provider;
  if (deviceEndpoint === undefined)
    throw usage(
      `${provider.issuer} offers no login by a code`,
      'Leave `--device` out, and log in with a browser here.',
    );
  const { status, body } = await postForm(deviceEndpoint, { client_id: clientID, scope }, context);
  const [code, userCode, page] = ['device_code', 'user_code', 'verification_uri'].map((name) =>
    asText(body[name]),
  );
  if (status !== 200 || code === undefined || userCode === undefined || page === undefined)
    throw new Failure(
      'failure',
      `the provider gives out no code (${asText(body['error']) ?? status})`,
      'Check the client at the provider: it must be allowed the device grant.',
    );
  context.stderr.write(printable(`Open ${page} and type the code ${userCode}\n`));
  const whole = asText(body['verification_uri_complete']);
  if (whole !== undefined) context.stderr.write(printable(`Or open ${whole}\n`));
  const end = context.now() + (asCount(body['expires_in']) ?? 600) * 1_000;
  return await poll(
    { provider, code, end, pauseMs: (asCount(body['interval']) ?? 5) * 1_000 },
    context,
    wait,
  );
}

interface Polling {
  readonly provider: Provider;
  readonly code: string;
  readonly end: number;
  readonly pauseMs: number;
}

async function poll(
  { provider, code, end, pauseMs }: Polling,
  context: Surroundings,
  wait: (ms: number) => Promise<unknown>,
): Promise<string> {
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: code,
    client_id: provider.clientID,
  };
  let pause = pauseMs;
  while (context.now() < end) {
    await wait(pause);
    const { status, body } = await postForm(provider.tokenEndpoint, form, context);
    if (status === 200) return asText(body['id_token']) ?? fail(noToken());
    const error = asText(body['error']) ?? '';
    if (error === 'slow_down') pause += 5_000;
    else if (error !== 'authorization_pending') throw refused(error);
  }
  throw refused('expired_token');
}

const fail = (error: Failure): never => {
  throw error;
};

function refused(error: string): Failure {
  if (error === 'access_denied')
    return new Failure('forbidden', 'the login was refused at the provider', 'Log in again, and allow it.');
  if (error === 'expired_token')
    return new Failure('failure', 'no one typed the code in time', 'Run `latchkey login --device` again.');
  return new Failure(
    'failure',
    `the login failed at the provider (${printable(error) || 'no reason'})`,
    'Try again.',
  );
}
