import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseInstant } from '../../api/instant.ts';
import { asCount, asObject, asText, type JsonObject, parseJSON } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { lifeOptions, readLockSpec, selectorOptions } from '../locks/lock-spec.ts';
import { contextOption, kubectl } from '../locks/platform-kubectl.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { Failure, printable } from '../shared/failure.ts';

export const lock: CommandSpec = {
  name: 'lock',
  summary: 'For administrators: stops credentials of anybody, and deletes nothing',
  details: [
    'It makes a CredentialLock by kubectl, with your kubeconfig: no lock stops that. You need the ClusterRole `latchkey-locker`.',
    'Names are compared exactly, also in case. Tokens that clusters take by themselves work there until they end.',
  ],
  arguments: [{ name: 'name', about: 'Of the lock. Default: one is made.', isOptional: true }],
  options: { ...selectorOptions, ...lifeOptions, ...contextOption },
  examples: [
    { about: 'Someone left', command: 'latchkey lock left-ada --user ada' },
    {
      about: 'A laptop is gone, and Ada gets a new one',
      command: 'latchkey lock laptop --user ada --issued-before now --reason INC-42',
    },
  ],
  run: make,
};

export const unlock: CommandSpec = {
  name: 'unlock',
  summary: 'For administrators: deletes locks, so that credentials work again',
  details: ['It deletes CredentialLocks by kubectl, with your kubeconfig.'],
  arguments: [{ name: 'names', about: 'The locks.', isRest: true }],
  options: contextOption,
  examples: [
    { about: 'One', command: 'latchkey unlock laptop' },
    { about: 'Several', command: 'latchkey unlock laptop left-ada' },
  ],
  run: remove,
};

async function make(invocation: Invocation, context: Context): Promise<undefined> {
  const [name = `lock-${randomBytes(5).toString('hex')}`] = invocation.positionals;
  const lockOf = (now: number) =>
    ({ ...typeMeta, metadata: { name }, spec: readLockSpec(invocation, now) }) as const;
  const draft = lockOf(context.now());
  const time = hasOwnClock(invocation) ? await timeOfPlatform(invocation, context, draft) : undefined;
  const object = time === undefined ? draft : lockOf(time);
  const [over, create] = [context.now() + secondMs, ['create', '-f', '-']];
  await kubectl(invocation, context, create, JSON.stringify(object));
  const { stops, stoppedCredentials: count } = await untilCounted(invocation, context, name);
  context.stderr.write(
    `The lock ${name} is in force: ${printable(asText(stops) ?? '')} (${count} credentials).\n`,
  );
  // A key that is made after this command works.
  if (isNow(invocation)) await sleep(Math.max(0, over - context.now()));
  if (count === 0)
    context.stderr.write('No credential is stopped by it now: names are compared exactly, also in case.\n');
  return undefined;
}

const typeMeta = { apiVersion, kind: 'CredentialLock' } as const;
const secondMs = 1_000;

const isNow = ({ options }: Invocation): boolean => options['issued-before'] === 'now';
const hasOwnClock = (invocation: Invocation): boolean =>
  isNow(invocation) || invocation.options['for'] !== undefined;

/**
 * When the platform would make this lock, epoch milliseconds in whole seconds. The clock of a laptop may be minutes late, and then a lock
 * of all before now would spare what was made in these minutes.
 */
async function timeOfPlatform(invocation: Invocation, context: Context, lock: object): Promise<number> {
  const args = ['create', '--dry-run=server', '-o', 'json', '-f', '-'];
  const answer = asObject(parseJSON(await kubectl(invocation, context, args, JSON.stringify(lock))));
  const time = parseInstant(asObject(answer['metadata'])['creationTimestamp']);
  if (time !== undefined) return time;
  throw new Failure('failure', 'the platform does not say what time it is', 'Give the time as RFC 3339.');
}

const maxWaitMs = 15_000;
const pauseMs = 200;

async function untilCounted(invocation: Invocation, context: Context, name: string): Promise<JsonObject> {
  const end = context.now() + maxWaitMs;
  for (;;) {
    const found = parseJSON(
      await kubectl(invocation, context, ['get', 'credentiallock', name, '-o', 'json']),
    );
    const status = asObject(asObject(found)['status']);
    if (asCount(status['stoppedCredentials']) !== undefined) return status;
    if (context.now() >= end)
      throw new Failure(
        'failure',
        `the lock ${name} is made and gateways obey it, but the operator does not say so`,
        'Look at the operator: until it runs, client certificates in virtual clusters go on working.',
      );
    await sleep(pauseMs);
  }
}

async function remove(invocation: Invocation, context: Context): Promise<undefined> {
  const { positionals: names } = invocation;
  await kubectl(invocation, context, ['delete', 'credentiallock', ...names]);
  context.stderr.write(
    `Deleted: ${names.map(printable).join(', ')}. Credentials that still live work again.\n`,
  );
  return undefined;
}
