import { constants, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '../session/places.ts';
import { readPrivate, versionOf, writePrivate } from '../session/private-file.ts';

// The way of most calls: it must load nothing but files, because every kubectl waits for it.

/** The origin of a cached credential. Two of them never share a file. */
export interface SourceName {
  readonly baseURL: string;
  /** `session`, `file:<path>`, `trust:<name>`, or `variable:` and a mark of the key in it. */
  readonly from: string;
  /** How long a child key lives, as it was written; absent: the key itself is used. */
  readonly childTTL?: string;
  /** The target whose direct endpoint it is for: its token opens nothing else. */
  readonly direct?: string;
}

/** A credential as it was made or read, with all that decides whether it is used again. */
export interface Cached {
  readonly source: string;
  /** Of the file that it was read or derived from: a new login, or a rotated key, counts at once. */
  readonly version: string;
  readonly key: string;
  /** Epoch milliseconds, as all of them. Absent: no end. */
  readonly end?: number;
  /** From then on another one is made. */
  readonly renewAt?: number;
  /** The gateway last accepted it then. */
  readonly checked: number;
  /** A renewal failed: not before then is the next one tried, while this one lives. */
  readonly retryAt?: number;
  /** The last new one was refused where it is to be used: until then none other is made, whatever becomes of this one. */
  readonly refusal?: { readonly until: number; readonly problem: string };
  /** Where the token may go that a ClusterProfile asks for. Absent: the platform was not asked about this token. */
  readonly endpoint?: ConfirmedEndpoint;
}

/** The direct endpoint of a target, as the platform named it. */
export interface ConfirmedEndpoint {
  readonly baseURL: string;
  /** PEM. */
  readonly ca?: string;
  /** PEM, of the platform that was asked. Who trusts another one since then has to ask again. */
  readonly platformCA?: string;
}

type Surroundings = Parameters<typeof cacheFolder>[0];

export interface CachePlace {
  readonly file: string;
  readonly source: string;
}

export function cachePlace(
  { baseURL, from, childTTL, direct }: SourceName,
  context: Surroundings,
): CachePlace {
  const source = JSON.stringify([baseURL, from, childTTL ?? '', ...(direct === undefined ? [] : [direct])]);
  const host = baseURL.replace(/^https:\/\//, '').replaceAll(/[^\w.-]/g, '_');
  return {
    file: path.join(cacheFolder(context), `${host.slice(0, 60)}-${fingerprint(source)}.json`),
    source,
  };
}

/** Changes with the key, and does not tell it. */
export const markOfKey = (key: string): string => fingerprint(key);

/** FNV-1a. Who chooses the text is the one whose cache it is, and the whole text is compared besides. */
function fingerprint(text: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let index = 0; index < text.length; index += 1) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193) >>> 0;
    high = Math.imul(high ^ (low >>> 7) ^ text.charCodeAt(index), 0x85ebca6b) >>> 0;
  }
  return low.toString(16).padStart(8, '0') + high.toString(16).padStart(8, '0');
}

/** Undefined where there is none that can be read, or it is of something else. Throws a Failure for one that others may read. */
export function readCache({ file, source }: CachePlace, platform: NodeJS.Platform): Cached | undefined {
  const text = readPrivate(file, platform);
  if (text === undefined) return undefined;
  try {
    const cached = JSON.parse(text) as Cached;
    return cached.source === source && typeof cached.key === 'string' ? cached : undefined;
  } catch {
    return undefined;
  }
}

export const writeCache = ({ file }: CachePlace, cached: Cached): void =>
  writePrivate(file, JSON.stringify(cached));

/** Deletes what is kept for this gateway: bearer credentials, which work for all who read the disk later. */
export function dropCaches(baseURL: string, context: Surroundings): void {
  const folder = cacheFolder(context);
  // A process that died has left its draft.
  for (const name of namesIn(folder).filter((each) => /\.json(?:\.\d+\.new)?$/.test(each))) {
    const file = path.join(folder, name);
    if (baseURLOf(file) !== baseURL) continue;
    for (const each of [file, markFile({ file })]) rmSync(each, { force: true });
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Nothing was kept yet.
    return [];
  }
}

function baseURLOf(file: string): unknown {
  try {
    return JSON.parse(JSON.parse(readFileSync(file, 'utf8')).source)[0];
  } catch {
    return undefined;
  }
}

/** How long the gateway is not asked whether it still accepts a key. */
export const checkEveryMs = 300_000;

/** Whether a cached credential may be used as it is, without a word to the gateway. */
export function isFresh(cached: Cached, version: string, now: number): boolean {
  if (cached.version !== version) return false;
  if (cached.end !== undefined && now >= cached.end) return false;
  const isRenewalDue = cached.renewAt !== undefined && now >= cached.renewAt;
  if (isRenewalDue && now >= (cached.retryAt ?? 0)) return false;
  return now >= cached.checked && now - cached.checked < checkEveryMs;
}

const markFile = ({ file }: Pick<CachePlace, 'file'>): string => `${file}.last`;
const markOf = (ppid: number, key: string): string => `${ppid} ${fingerprint(key)}`;

/** XDG_CACHE_HOME may be a place where others write: no link of theirs chooses another file. Windows knows no such flag. */
const replacing = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);

/** As many clients as may run side by side. */
const maxMarks = 64;

function readMarks(place: CachePlace): readonly string[] {
  try {
    return readFileSync(markFile(place), 'utf8').split('\n');
  } catch {
    // None was given yet.
    return [];
  }
}

/**
 * Whether this process was given this key before. It would use that until the end that it was told, so it comes back because the gateway
 * answered 401.
 */
export const wasGiven = (place: CachePlace, ppid: number, key: string): boolean =>
  readMarks(place).includes(markOf(ppid, key));

export function rememberGiven(place: CachePlace, ppid: number, key: string): void {
  const mark = markOf(ppid, key);
  const others = readMarks(place).filter((each) => each !== mark);
  try {
    const text = [...others.slice(1 - maxMarks), mark].join('\n');
    writeFileSync(markFile(place), text, { mode: 0o600, flag: replacing as unknown as string });
  } catch {
    // Without it, a key that the gateway refuses is noticed five minutes later.
  }
}

/** Version of the file that a key is read from. */
export const sourceVersion = (file: string | undefined): string =>
  file === undefined ? '' : versionOf(file);
