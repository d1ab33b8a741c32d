import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, defined } from '../../api/json.ts';
import { exchangeToken } from '../exchange/token-exchange.ts';
import { type Connection, Platform } from '../gateway/platform.ts';
import { loginInBrowser } from '../login/browser.ts';
import { loginByDevice } from '../login/device.ts';
import { findProvider, providerOptions } from '../login/provider.ts';
import { shortTime } from '../output/output.ts';
import { connectionOptions, readPlace } from '../session/connection.ts';
import { readKeyFromInput } from '../session/key-input.ts';
import { keepSession } from '../session/sessions.ts';
import { type CommandSpec, type Context, type Invocation, isOn } from '../shared/context.ts';
import { usage } from '../shared/failure.ts';

const { 'key-file': _, ...placeOptions } = connectionOptions;

export const login: CommandSpec = {
  name: 'login',
  summary: 'Logs you in at the provider of the platform, and keeps the key that you get',
  details: [
    'The key is kept in a file that only you can read, and ends by itself. The token of the provider goes to the gateway, and is never stored.',
    'With `--with-key` you bring a key of your own, on standard input.',
  ],
  arguments: [],
  options: {
    device: { type: 'boolean', about: 'Without a browser here: open a page anywhere, and type a code.' },
    'with-key': { type: 'boolean', about: 'Keep the key that comes on standard input.' },
    ...providerOptions,
    ...placeOptions,
  },
  examples: [
    {
      about: 'On a machine without a browser',
      command: 'latchkey login --device --base-url https://latchkey.example.com',
    },
    {
      about: 'With a key that you were given',
      command: 'latchkey login --with-key --base-url https://latchkey.example.com < my.key',
    },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const { session: _session, ...place } = readPlace(invocation, context);
  if (isOn(invocation, 'with-key')) {
    if (isOn(invocation, 'device'))
      throw usage('--with-key and --device exclude each other', 'Give one of them.');
    const key = await readKeyFromInput(context, 'login --with-key');
    await keep(place, { key, isOwn: false }, context);
    return undefined;
  }
  const gateway = new Platform(place, context);
  const provider = await findProvider(invocation, gateway, context);
  const token = isOn(invocation, 'device')
    ? await loginByDevice(provider, context)
    : await loginInBrowser(provider, context);
  const { key } = await exchangeToken(gateway, { token, type: 'id_token' }, context.now);
  await keep(place, { key, isOwn: true }, context);
  return undefined;
}

interface Gained {
  readonly key: string;
  /** Whether this login made it. */
  readonly isOwn: boolean;
}

/** The gateway says whose the key is: one that it does not know is not kept. */
async function keep(place: Connection, { key, isOwn }: Gained, context: Context): Promise<void> {
  const status = asObject((await new Platform({ ...place, key }, context).self())['status']);
  const user = asText(status['subject']) ?? '';
  const end = parseInstant(status['expirationTimestamp']);
  const name = asText(status['accessKey']);
  keepSession(context, { ...place, key, ...defined({ user, end, name, isOwn: isOwn ? true : undefined }) });
  const life = end === undefined ? 'has no end' : `ends in ${shortTime(end - context.now())}`;
  context.stderr.write(`You are ${user} at ${place.baseURL}. The key ${life}. Next: latchkey targets\n`);
}
