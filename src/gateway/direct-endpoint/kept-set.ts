import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { asCount, asObject, asText, asTexts, parseJSON } from '../../api/json.ts';

import { directEndpoint } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Remembered } from './followed-credentials.ts';
import { isBehind, LineReader } from './line-reader.ts';
import { LiveSet } from './live-set.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Of what one Secret can hold, which is a mebibyte. */
const maxBytes = 900 * 1_024;
/** Beyond this they do not fit anyway, and making the text takes the main thread. */
const maxCredentials = 20_000;
const maxTextBytes = 64 * 2 ** 20;
const key = { namespace: directEndpoint.namespace, name: directEndpoint.keptSet };
const entry = 'set';

export interface Kept extends Remembered {
  /** Of users who may use spaces. */
  readonly rights: readonly string[];
}

export interface ToKeep {
  readonly set: LiveSet;
  /** Epoch milliseconds of the last proof that it is current. */
  readonly proved: number;
  readonly rights: readonly string[];
}

/**
 * The text for the Secret, and how many credentials it leaves out: those that end first, because a restart in an outage needs them for the
 * shortest time.
 */
export async function renderKept(cluster: string, { set, proved, rights }: ToKeep) {
  const all = [...set.credentials.values()].map(({ credential }) => credential).sort((a, b) => b.end - a.end);
  let count = Math.min(all.length, maxCredentials);
  for (;;) {
    const credentials = all.slice(0, count);
    const { uid, positions } = set;
    const spaces = [...set.spaces.values()];
    const text = JSON.stringify({ version: 1, cluster, uid, positions, proved, rights, spaces, credentials });
    const bytes = await compress(text);
    if (bytes.length <= maxBytes) return { text: bytes.toString('base64'), left: all.length - count };
    // Spaces and rights alone are never that many.
    if (count === 0) return undefined;
    count = Math.floor(count * Math.min(0.9, (maxBytes / bytes.length) * 0.95));
  }
}

/** Undefined for what is not ours, was altered so that it cannot be read, or comes from the future. */
export async function parseKept(cluster: string, secret: unknown, now: number): Promise<Kept | undefined> {
  const text = asText(asObject(asObject(secret)['data'])[entry]);
  if (text === undefined) return undefined;
  try {
    const bytes = await decompress(Buffer.from(text, 'base64'), { maxOutputLength: maxTextBytes });
    return readKept(cluster, parseJSON(bytes.toString('utf8')), now);
  } catch {
    return undefined;
  }
}

/** By the rules of the stream, which it could have come from. */
function readKept(cluster: string, value: unknown, now: number): Kept | undefined {
  const { version, uid, positions, proved, rights, spaces, credentials } = asObject(value);
  const at = asCount(proved);
  if (version !== 1 || at === undefined || at > now + maxAheadMs) return undefined;
  const lines = [
    { type: 'START', object: { cluster: asObject(value)['cluster'], uid } },
    ...listOf(spaces).map((object) => ({ type: 'SPACE', object })),
    ...listOf(credentials).map((object) => ({ type: 'ADD', object })),
    { type: 'SYNCED', object: { positions } },
  ];
  const reader = new LineReader(cluster);
  const set = new LiveSet();
  for (const [index, line] of lines.entries()) set.apply(reader.read({ ...line, number: index + 1 }));
  return { set, ageMs: Math.max(0, now - at), rights: asTexts(rights) };
}

/** Clocks of two machines differ a little. */
const maxAheadMs = 60_000;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Reads the Secret. Undefined where there is nothing in it that can be used. */
export async function loadKept(
  client: Pick<KubeClient, 'get'>,
  cluster: string,
  now: number,
): Promise<Kept | undefined> {
  return await parseKept(cluster, await client.get<KubeObject>(secrets, key), now);
}

/** Writes the Secret, unless another replica has written what is known further. Resolves with how many credentials had no room. */
export async function storeKept(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  cluster: string,
  kept: ToKeep,
): Promise<number> {
  const present = await client.get<KubeObject>(secrets, key);
  const other = await parseKept(cluster, present, Number.MAX_SAFE_INTEGER);
  if (
    other !== undefined &&
    other.set.uid === kept.set.uid &&
    isBehind(kept.set.positions, other.set.positions)
  )
    return 0;
  const rendered = await renderKept(cluster, kept);
  const { uid, resourceVersion } = present.metadata;
  const data = { [entry]: rendered?.text ?? null };
  await client.mergePatch(secrets, key, { metadata: { uid, resourceVersion }, data });
  return rendered?.left ?? kept.set.credentials.size;
}
