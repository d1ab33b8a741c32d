import { promisify } from 'node:util';
import { createGunzip, gunzip, gzip } from 'node:zlib';
import { asCount, asObject, asText, parseJSON } from '../../api/json.ts';
import type { LiveLineType } from '../../api/live-credentials.ts';
import { directEndpoint } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import type { KubeObject } from '../../kube/object.ts';
import { TimeSlice } from '../../kube/time-slice.ts';
import type { Remembered } from './followed-credentials.ts';
import { BadStream, isBehind, LineReader } from './line-reader.ts';
import { type KnownCredential, LiveSet, scopesOf } from './live-set.ts';
import type { KeptRight } from './space-rights.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Of what one Secret can hold, which is a mebibyte. */
const maxBytes = 900 * 1_024;
/** Beyond this they do not fit anyway. */
const maxCredentials = 20_000;
/** Before compression, a tenth of the memory. Reader and writer have the same limit: a longer text would be lost as a whole. */
const maxTextBytes = 32 * 2 ** 20;
/** Of the text of one user before those of all others are in, characters. Text of random names hardly compresses. */
const maxUserLength = maxBytes / 8;
/** Of text that is compressed at once, characters. */
const pieceLength = 64 * 1_024;
const key = { namespace: directEndpoint.namespace, name: directEndpoint.keptSet };
const entry = 'set';

export interface Kept extends Remembered {
  readonly rights: readonly KeptRight[];
}

export interface LoadOptions {
  readonly clock: Clock;
  /** Takes what is read; empty. */
  readonly set: LiveSet;
}

export interface ToKeep {
  readonly set: LiveSet;
  /** Epoch milliseconds of the last proof that it is current. */
  readonly proved: number;
  readonly rights: readonly KeptRight[];
}

export interface Rendered {
  readonly text: string;
  /** Credentials that have no room. */
  readonly left: number;
}

/**
 * The text for the Secret: a line of JSON about all, and one for each credential. Those that end first are left out, because a restart in
 * an outage needs them for the shortest time, and what one user has beyond an eighth of the room comes after all others. Undefined where not even the first line has room.
 */
export async function renderKept(cluster: string, kept: ToKeep, clock: Clock): Promise<Rendered | undefined> {
  const { credentials } = kept.set;
  const first = await renderFirstLine(cluster, kept);
  if (first === undefined) return undefined;
  const pieces = [first.compressed];
  let room = maxBytes - first.compressed.length;
  let left = credentials.size;
  for await (const { text, count } of renderLines(credentials, maxTextBytes - first.bytes, clock)) {
    const compressed = await compress(text);
    room -= compressed.length;
    if (room < 0) break;
    pieces.push(compressed);
    left -= count;
  }
  return { text: Buffer.concat(pieces).toString('base64'), left };
}

interface FirstLine {
  readonly compressed: Buffer;
  /** Before compression. */
  readonly bytes: number;
}

/** Leaves out rights, then spaces, where they would take more than half of the room: tokens open the cluster without them. */
async function renderFirstLine(
  cluster: string,
  { set, proved, rights }: ToKeep,
): Promise<FirstLine | undefined> {
  const { uid, positions } = set;
  const spaces = [...set.spaces.values()];
  for (const more of [
    { rights, spaces },
    { rights: [], spaces },
    { rights: [], spaces: [] },
  ]) {
    const line = JSON.stringify({ version: 2, cluster, uid, positions, proved, ...more });
    const bytes = Buffer.byteLength(line);
    if (bytes > maxTextBytes / 2) continue;
    const compressed = await compress(line);
    if (compressed.length <= maxBytes / 2) return { compressed, bytes };
  }
  return undefined;
}

interface Lines {
  /** Each line behind a line feed. */
  readonly text: string;
  readonly count: number;
}

/**
 * The lines of as many credentials as the reader takes, some at a time. Each piece is compressed by itself, which reads as one: the text of
 * all would take more memory for a moment than the set itself. In slices: requests wait while this thread writes JSON.
 */
async function* renderLines(
  credentials: LiveSet['credentials'],
  maxLinesBytes: number,
  clock: Clock,
): AsyncGenerator<Lines> {
  const slice = new TimeSlice(clock);
  let [text, count, bytes] = ['', 0, 0];
  for (const line of linesInTurn(findLastEnding(credentials, maxCredentials))) {
    bytes += Buffer.byteLength(line);
    if (bytes > maxLinesBytes) break;
    text += line;
    count += 1;
    if (text.length >= pieceLength) {
      yield { text, count };
      [text, count] = ['', 0];
    }
    if (slice.used) await slice.yield();
  }
  if (count > 0) yield { text, count };
}

type Entry = readonly [hash: string, known: KnownCredential];

const renderLine = ([hash, known]: Entry): string =>
  `\n${JSON.stringify({ hash, ...known, scopes: scopesOf(known) })}`;

/** One user with long scopes must not push out the tokens of all others. */
function* linesInTurn(entries: Iterable<Entry>): Generator<string> {
  const lengths = new Map<string, number>();
  const later: Entry[] = [];
  for (const entry of entries) {
    const [, { user }] = entry;
    const length = lengths.get(user) ?? 0;
    if (length >= maxUserLength) {
      later.push(entry);
      continue;
    }
    const line = renderLine(entry);
    lengths.set(user, length + line.length);
    yield line;
  }
  for (const entry of later) yield renderLine(entry);
}

/** The credentials that end last, the last one first. To sort all of them would take a copy of the whole set. */
function findLastEnding(credentials: LiveSet['credentials'], maxCount: number): readonly Entry[] {
  const ends = new Float64Array(credentials.size);
  let place = 0;
  for (const { end } of credentials.values()) ends[place++] = end;
  ends.sort();
  const least = ends[Math.max(0, ends.length - maxCount)] ?? 0;
  const later: Entry[] = [];
  const equal: Entry[] = [];
  for (const [hash, known] of credentials) {
    if (known.end > least) later.push([hash, known]);
    else if (known.end === least && equal.length < maxCount) equal.push([hash, known]);
  }
  return [...later.sort(([, a], [, b]) => b.end - a.end), ...equal].slice(0, maxCount);
}

/** Undefined for what is not ours, was altered so that it cannot be read, or comes from the future. */
export async function parseKept(
  cluster: string,
  secret: unknown,
  now: number,
  { clock, set }: LoadOptions,
): Promise<Kept | undefined> {
  try {
    const bytes = await unpack(secret);
    const { rights, at, take, end } = readFirstLine(cluster, bytes, now, set);
    const slice = new TimeSlice(clock);
    for (let from = end + 1; from < bytes.length; ) {
      const next = lineEnd(bytes, from);
      take('ADD', parseJSON(bytes.toString('utf8', from, next)));
      from = next + 1;
      if (slice.used) await slice.yield();
    }
    return { set, ageMs: Math.max(0, now - at), rights };
  } catch {
    return undefined;
  }
}

/** Throws for what is not ours. */
async function unpack(secret: unknown): Promise<Buffer> {
  return await decompress(compressedOf(secret), { maxOutputLength: maxTextBytes });
}

/** As much of it as the first line needs. */
async function unpackFirstLine(secret: unknown): Promise<Buffer> {
  const unpacked = createGunzip();
  unpacked.end(compressedOf(secret));
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of unpacked) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxTextBytes || chunk.includes('\n')) break;
  }
  return Buffer.concat(chunks);
}

const compressedOf = (secret: unknown): Buffer =>
  Buffer.from(asText(asObject(asObject(secret)['data'])[entry]) ?? '', 'base64');

/** By the rules of the stream, which it could have come from: `take` takes the next line. Throws {@link BadStream}. */
function readFirstLine(cluster: string, bytes: Buffer, now: number, set: LiveSet) {
  const end = lineEnd(bytes, 0);
  const first = asObject(parseJSON(bytes.toString('utf8', 0, end)));
  const { version, cluster: named, uid, positions, proved, rights, spaces } = first;
  const at = asCount(proved);
  if (version !== 2 || at === undefined || at > now + maxAheadMs)
    throw new BadStream('the first line cannot be read');
  const reader = new LineReader(cluster);
  let number = 0;
  const take = (type: LiveLineType, object: unknown): void => {
    number += 1;
    set.apply(reader.read({ type, object, number }));
  };
  take('START', { cluster: named, uid });
  for (const space of listOf(spaces)) take('SPACE', space);
  take('SYNCED', { positions });
  return { rights: listOf(rights).flatMap(readRight), at, take, end };
}

function readRight(value: unknown): readonly KeptRight[] {
  const { user, key, at } = asObject(value);
  const isWhole = asText(user) !== undefined && asText(key) !== undefined && asCount(at) !== undefined;
  return isWhole ? [{ user: String(user), key: String(key), at: Number(at) }] : [];
}

function lineEnd(bytes: Buffer, from: number): number {
  const end = bytes.indexOf('\n', from);
  return end === -1 ? bytes.length : end;
}

/** Clocks of two machines differ a little. */
const maxAheadMs = 60_000;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Reads the Secret. Undefined where there is nothing in it that can be used. */
export async function loadKept(
  client: Pick<KubeClient, 'get'>,
  cluster: string,
  options: LoadOptions,
): Promise<Kept | undefined> {
  return await parseKept(cluster, await client.get<KubeObject>(secrets, key), options.clock.now(), options);
}

/** Writes the Secret, unless another replica has written what is known further. Resolves with how many credentials had no room. */
export async function storeKept(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  cluster: string,
  kept: ToKeep,
  clock: Clock,
): Promise<number> {
  const present = await client.get<KubeObject>(secrets, key);
  if (await isKnownFurther(cluster, present, kept.set)) return 0;
  const rendered = await renderKept(cluster, kept, clock);
  // The present content still helps after a restart, and has an age of its own.
  if (rendered === undefined) return kept.set.credentials.size;
  const { uid, resourceVersion } = present.metadata;
  const data = { [entry]: rendered.text };
  await client.mergePatch(secrets, key, { metadata: { uid, resourceVersion }, data });
  return rendered.left;
}

async function isKnownFurther(cluster: string, present: KubeObject, own: LiveSet): Promise<boolean> {
  try {
    const set = new LiveSet();
    readFirstLine(cluster, await unpackFirstLine(present), Number.MAX_SAFE_INTEGER, set);
    if (set.uid !== own.uid || !isBehind(own.positions, set.positions)) return false;
    // Cut off behind its first line it would help no restart, and must not stay.
    await unpack(present);
    return true;
  } catch {
    return false;
  }
}
