import { asCount, asObject, asText, asTexts, isObject, type JsonObject } from '../../api/json.ts';
import type {
  LiveCredential,
  LiveLine,
  LiveLineType,
  LiveObjects,
  Positions,
} from '../../api/live-credentials.ts';
import { isTokenIDHash } from '../../credentials/token-id.ts';
import { isNewerVersion } from '../../kube/object.ts';
import { isObjectName } from '../../scope/request-path.ts';

/** The stream is not one that can be followed. The message is for the log, and quotes nothing of the line. */
export class BadStream extends Error {}

/** Of a line, bytes. A token has at most a few scopes above its own, and no object with one is larger than a megabyte. */
export const maxLineBytes = 16 * 2 ** 20;

const isLabel = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(value);
const isHash = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
const isVersion = (value: unknown): value is string =>
  typeof value === 'string' && /^(?:0|[1-9]\d{0,19})$/.test(value);

type Reader<Type extends LiveLineType> = (object: JsonObject) => LiveObjects[Type] | undefined;

const readers: { readonly [Type in LiveLineType]: Reader<Type> } = {
  START: ({ cluster, uid }) =>
    isObjectName(cluster) && asText(uid) ? { cluster, uid: String(uid) } : undefined,
  ADD: readCredential,
  DROP: ({ hash }) => (isHash(hash) ? { hash } : undefined),
  SPACE: ({ project, name, namespace, uid }) =>
    isObjectName(project) && isObjectName(name) && isLabel(namespace) && asText(uid)
      ? { project, name, namespace, uid: String(uid) }
      : undefined,
  NOSPACE: ({ project, name }) =>
    isObjectName(project) && isObjectName(name) ? { project, name } : undefined,
  SYNCED: ({ positions }) => readProof(positions, (read) => ({ positions: read })),
  BEAT: ({ time, positions }) =>
    readProof(positions, (read) =>
      asCount(time) === undefined ? undefined : { time: Number(time), positions: read },
    ),
};

/** Reads the lines of one stream, each of which must be the next one. */
export class LineReader {
  readonly #cluster: string;
  #number = 0;
  #isSynced = false;
  #positions: Positions | undefined;

  /** `cluster`: whose stream it is to be. */
  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  /** Throws {@link BadStream}. What is not understood may take something back, so it ends the stream. */
  read(line: unknown): LiveLine {
    const { type, number, object } = asObject(line);
    if (number !== this.#number + 1) throw new BadStream('a line is lost, repeated or moved');
    this.#number += 1;
    if (typeof type !== 'string' || !Object.hasOwn(readers, type))
      throw new BadStream('a line of an unknown type');
    const read = readers[type as LiveLineType](asObject(object));
    if (read === undefined) throw new BadStream(`a line ${type} that cannot be read`);
    const found = { type, number, object: read } as LiveLine;
    this.#checkOrder(found);
    return found;
  }

  #checkOrder({ type, number, object }: LiveLine): void {
    if ((type === 'START') !== (number === 1)) throw new BadStream('START is not the first line');
    if (type === 'START' && object.cluster !== this.#cluster) throw new BadStream('it names another cluster');
    if (type === 'SYNCED' && this.#isSynced) throw new BadStream('it is synced twice');
    if (type !== 'SYNCED' && type !== 'BEAT') return;
    if (this.#positions !== undefined && isBehind(object.positions, this.#positions))
      throw new BadStream('its positions go back');
    this.#positions = object.positions;
    if (type === 'SYNCED') this.#isSynced = true;
  }
}

/** Whether something is known less far than in the other. */
export const isBehind = (positions: Positions, other: Positions): boolean =>
  (['tokens', 'keys', 'locks'] as const).some((name) => isNewerVersion(other[name], positions[name]));

/** Undefined for what names no user, or no end. */
export function readCredential(object: JsonObject): LiveCredential | undefined {
  const { hash, name, user, groups, scopes, end, tokenID } = object;
  const uid = uidOf(object);
  const isNamed = isHash(hash) && uid !== undefined && isObjectName(name);
  if (!isNamed || !asText(user) || asCount(end) === undefined) return undefined;
  if (tokenID !== undefined && !isTokenIDHash(tokenID)) return undefined;
  if (!Array.isArray(groups) || asTexts(groups).length !== groups.length) return undefined;
  // Without its scopes a token could do more than it should.
  if (!Array.isArray(scopes) || !scopes.every(isScope)) return undefined;
  const read = scopes.map(({ owner, scope }) => ({ owner, scope }));
  const found = { hash, uid, name, user: String(user), groups, scopes: read, end: Number(end) };
  return tokenID === undefined ? found : { ...found, tokenID };
}

/**
 * Gateways of an earlier release, and sets that an earlier endpoint has kept, say `jti: <uid>.<serial>` instead. Endpoints come first in an
 * upgrade, so without this one they would refuse every token until the platform follows.
 */
function uidOf({ uid, jti }: JsonObject): string | undefined {
  const found = uid === undefined && typeof jti === 'string' ? /^(.*)\.\d{1,15}$/.exec(jti)?.[1] : uid;
  return typeof found === 'string' && /^[\w-]{1,64}$/.test(found) ? found : undefined;
}

const isScope = (value: unknown): value is LiveCredential['scopes'][number] =>
  isObject(value) && asText(value['owner']) !== undefined && isObject(value['scope']);

function readProof<T>(value: unknown, make: (positions: Positions) => T | undefined): T | undefined {
  const { tokens, keys, locks } = asObject(value);
  return isVersion(tokens) && isVersion(keys) && isVersion(locks) ? make({ tokens, keys, locks }) : undefined;
}
