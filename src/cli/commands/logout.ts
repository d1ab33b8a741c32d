import { dropCaches } from '../credential/cache.ts';
import { Platform } from '../gateway/platform.ts';
import { connectionOptions, readPlace } from '../session/connection.ts';
import { dropSession } from '../session/sessions.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import { pathOfKey } from './keys-change.ts';

const { 'key-file': _, ...placeOptions } = connectionOptions;

export const logout: CommandSpec = {
  name: 'logout',
  summary: 'Forgets the key of your login, and deletes it if the login made it',
  details: [
    'Keys and tokens that kubectl got for this gateway are deleted from this machine.',
    'kubeconfigs stay as they are. They work again after the next login.',
  ],
  arguments: [],
  options: placeOptions,
  examples: [
    { about: 'From the gateway of your last login', command: 'latchkey logout' },
    { about: 'From another one', command: 'latchkey logout --base-url https://latchkey.example.com' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const { session, ...place } = readPlace(invocation, context);
  dropCaches(place.baseURL, context);
  if (session === undefined) {
    context.stderr.write(`You are not logged in to ${place.baseURL}.\n`);
    return undefined;
  }
  // First: it must be gone from this machine whatever the gateway says.
  dropSession(context, session.baseURL);
  if (session.isOwn !== true || session.name === undefined) {
    context.stderr.write(`The key for ${place.baseURL} is forgotten here, and still works elsewhere.\n`);
    return undefined;
  }
  const { key, name } = session;
  try {
    await new Platform({ ...place, key }, context).own(pathOfKey(name), { method: 'DELETE' });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // It has ended, or was deleted.
    if (error.kind !== 'unauthenticated' && error.kind !== 'notFound')
      throw new Failure(
        error.kind,
        `the key is forgotten here, and ${name} lives on: ${error.message}`,
        `Delete it later: \`latchkey keys delete ${name}\`.`,
        { cause: error },
      );
  }
  context.stderr.write(`You are logged out of ${place.baseURL}, and the key is deleted.\n`);
  return undefined;
}
