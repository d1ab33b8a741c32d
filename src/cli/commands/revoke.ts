import { setTimeout as sleep } from 'node:timers/promises';
import { asObject, asText } from '../../api/json.ts';
import { Platform } from '../gateway/platform.ts';
import { connect, connectionOptions, readPlace } from '../session/connection.ts';
import { readKeyFromInput } from '../session/key-input.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import { pathOfKey } from './keys-change.ts';

export const revoke: CommandSpec = {
  name: 'revoke',
  summary: 'Ends an access key, by its name or by the key itself',
  details: [
    'For a key that leaked. With a name, you end a key of yours. Without one, the key comes on standard input, and ends itself: you need no other.',
    'The command is done when the gateway refuses the key.',
  ],
  arguments: [
    { name: 'name', about: 'The access key. Default: the key on standard input.', isOptional: true },
  ],
  options: connectionOptions,
  examples: [
    { about: 'A key that was found in a log', command: 'latchkey revoke < leaked.key' },
    { about: 'One of yours', command: 'latchkey revoke shop-ci' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const [name] = invocation.positionals;
  if (name !== undefined) {
    await connect(invocation, context).own(pathOfKey(name), { method: 'DELETE' });
    context.stderr.write(`The access key ${name} is deleted, and refused with everything below it.\n`);
    return undefined;
  }
  const { session: _, ...place } = readPlace(invocation, context);
  const key = await readKeyFromInput(context, 'revoke');
  await revokeItself(new Platform({ ...place, key }, context), context);
  return undefined;
}

async function revokeItself(gateway: Platform, context: Context): Promise<void> {
  const found = await isRefused(gateway);
  if (found === true) {
    context.stderr.write('The gateway refuses this key already.\n');
    return;
  }
  const { kind, name = '' } = found;
  if (kind !== 'OwnedAccessKey')
    throw new Failure(
      'failure',
      `this is no access key but the credential of ${kind} ${name}`,
      `Delete that object: \`kubectl delete ${String(kind).toLowerCase()} ${name}\`.`,
    );
  await gateway.own(pathOfKey(name), { method: 'DELETE' });
  if (!(await isSoonRefused(gateway, context)))
    throw new Failure(
      'failure',
      `${name} is deleted, and the gateway still accepts the key`,
      'Run the command again.',
    );
  context.stderr.write(
    `The access key ${name} is deleted: the gateway refuses the key, and everything below it.\n`,
  );
}

/** Each replica hears of it within milliseconds, unless it is cut off. */
const maxWaitMs = 5_000;
const pauseMs = 50;

async function isSoonRefused(gateway: Platform, { now }: Pick<Context, 'now'>): Promise<boolean> {
  const end = now() + maxWaitMs;
  while ((await isRefused(gateway)) !== true) {
    if (now() >= end) return false;
    await sleep(pauseMs);
  }
  return true;
}

interface Found {
  readonly kind: string | undefined;
  readonly name: string | undefined;
}

async function isRefused(gateway: Platform): Promise<true | Found> {
  try {
    const { credential } = asObject((await gateway.self())['status']);
    const { kind, name } = asObject(credential);
    return { kind: asText(kind), name: asText(name) };
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthenticated') return true;
    throw error;
  }
}
