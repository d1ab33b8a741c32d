import { asObject, asText, defined, isObject, parseJSON } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';
import { Failure } from '../shared/failure.ts';
import { sessionsFile } from './places.ts';
import { readPrivate, writePrivate } from './private-file.ts';

/** A key that `latchkey login` keeps, for one gateway. */
export interface Session {
  readonly baseURL: string;
  /** PEM. */
  readonly ca?: string;
  readonly key: string;
  /** Epoch milliseconds. Absent: the key has no end. */
  readonly end?: number;
  readonly user?: string;
  /** The object of the key, where it is an access key. */
  readonly name?: string;
  /** Whether the login made the key, so that the logout deletes it. */
  readonly isOwn?: boolean;
}

interface Stored {
  /** The base URL of the last login. */
  readonly current?: string;
  readonly sessions: readonly Session[];
}

type Surroundings = Pick<Context, 'env' | 'platform'>;

/** The session with this gateway; without one, that of the last login. */
export function findSession(context: Surroundings, baseURL?: string): Session | undefined {
  const { current, sessions } = read(context);
  const wanted = baseURL ?? current;
  return sessions.find((session) => session.baseURL === wanted);
}

export function keepSession(context: Surroundings, session: Session): void {
  const others = read(context).sessions.filter(({ baseURL }) => baseURL !== session.baseURL);
  write(context, { current: session.baseURL, sessions: [...others, session] });
}

export function dropSession(context: Surroundings, baseURL: string): void {
  const { current, sessions } = read(context);
  const kept = sessions.filter((session) => session.baseURL !== baseURL);
  const next = current === baseURL ? kept.at(-1)?.baseURL : current;
  write(context, defined({ current: next, sessions: kept }));
}

const write = (context: Surroundings, stored: Stored): void =>
  writePrivate(sessionsFile(context), `${JSON.stringify({ version: 1, ...stored }, null, 2)}\n`);

function read(context: Surroundings): Stored {
  const file = sessionsFile(context);
  const text = readPrivate(file, context.platform);
  if (text === undefined) return { sessions: [] };
  const stored = parseJSON(text);
  if (!isObject(stored) || !Array.isArray(stored['sessions']))
    throw new Failure('usage', `${file} is not what this program wrote`, `Delete ${file}, and log in again.`);
  const sessions = stored['sessions'].flatMap((entry: unknown) => readSession(entry) ?? []);
  return defined({ current: asText(stored['current']), sessions });
}

function readSession(entry: unknown): Session | undefined {
  const { baseURL, key, end, isOwn, ...more } = asObject(entry);
  if (typeof baseURL !== 'string' || typeof key !== 'string') return undefined;
  return defined({
    baseURL,
    key,
    end: typeof end === 'number' ? end : undefined,
    isOwn: isOwn === true ? true : undefined,
    ca: asText(more['ca']),
    user: asText(more['user']),
    name: asText(more['name']),
  });
}
