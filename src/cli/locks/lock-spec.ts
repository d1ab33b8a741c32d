import { formatInstant, parseInstant } from '../../api/instant.ts';
import { defined, type JsonObject } from '../../api/json.ts';
import { readTTL } from '../session/durations.ts';
import { type Invocation, type OptionSpec, textOption } from '../shared/context.ts';
import { usage } from '../shared/failure.ts';

export const selectorOptions = {
  user: {
    type: 'string',
    value: 'USER',
    about: 'Credentials that speak for this user. A team is `team:NAME`.',
  },
  group: { type: 'string', value: 'GROUP', about: 'Credentials that carry this group.' },
  requester: { type: 'string', value: 'USER', about: 'Credentials that this user asked for, for any user.' },
  key: { type: 'string', value: 'NAME', about: 'This access key, what is below it, and what it made.' },
  uid: { type: 'string', value: 'UID', about: 'With --key: the key of this UID alone.' },
  hash: { type: 'string', value: 'SHA256', about: 'The credential with this SHA-256, in whatever object.' },
  issuer: { type: 'string', value: 'URL', about: 'Keys that came of tokens of this issuer.' },
  subject: { type: 'string', value: 'SUBJECT', about: 'With --issuer: of this subject alone.' },
  'signing-key': { type: 'string', value: 'KID', about: 'Tokens that this key signed.' },
  'issued-before': {
    type: 'string',
    value: 'TIME',
    about: 'Of these only what began before this time: RFC 3339, or `now` by the clock of the platform.',
  },
  everyone: {
    type: 'boolean',
    about: 'With --issued-before: every credential that is older, those of administrators too.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export const lifeOptions = {
  for: { type: 'string', value: 'DURATION', about: 'End of the lock: 90s, 15m, 24h or 30d. Default: none.' },
  reason: { type: 'string', value: 'TEXT', about: 'Why, for those who see locks.' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Reads from the options what a lock stops. `now`: epoch milliseconds. Throws a Failure. The API server checks the values. */
export function readLockSpec(invocation: Invocation, now: number): JsonObject {
  const of = (name: string) => textOption(invocation, name);
  const [before, life, reason] = ['issued-before', 'for', 'reason'].map(of);
  const selector = readSelector(invocation);
  const isForAll = invocation.options['everyone'] === true;
  if ((selector === undefined) !== isForAll) throw oneThing;
  if (isForAll && before === undefined)
    throw usage('--everyone needs --issued-before', 'Say which are older.');
  return defined({
    ...selector,
    issuedBefore: before && readTime(before, now),
    expirationTimestamp: life && formatInstant(now + readTTL(life, 'lock') * 1_000),
    reason,
  });
}

const oneThing = usage(
  'a lock stops one thing',
  'Give one of --user, --group, --requester, --key, --hash, --issuer, --signing-key and --everyone. Make several locks for several things.',
);

/** Undefined where there is none. */
function readSelector(invocation: Invocation): JsonObject | undefined {
  const of = (name: string) => textOption(invocation, name);
  const [key, uid, issuer, subject] = ['key', 'uid', 'issuer', 'subject'].map(of);
  if (uid !== undefined && key === undefined) throw usage('--uid needs --key', 'Name the key, too.');
  if (subject !== undefined && issuer === undefined)
    throw usage('--subject needs --issuer', 'Name the issuer, too.');
  const given = defined({
    user: of('user'),
    group: of('group'),
    requester: of('requester'),
    accessKey: key && defined({ name: key, uid }),
    credentialHash: of('hash'),
    exchange: issuer && defined({ issuer, subject }),
    signingKeyID: of('signing-key'),
  });
  const count = Object.keys(given).length;
  if (count > 1) throw oneThing;
  return count === 1 ? given : undefined;
}

/** Times of creation are whole seconds, rounded down. So `now` is the next one: what was made a moment ago is older. */
function readTime(text: string, now: number): string {
  if (text === 'now') return formatInstant(Math.floor(now / 1_000) * 1_000 + 1_000);
  if (parseInstant(text) === undefined)
    throw usage(`${JSON.stringify(text)} is no time`, 'Write it as 2026-11-26T17:30:00Z, or `now`.');
  return text;
}
