import { asCount, asObject, asText } from '../../api/json.ts';
import { readSigningKey, type SigningKey, type SigningKeyDates } from './signing-key.ts';

/** Data of a Secret: base64 by entry name. */
export type SecretData = Readonly<Record<string, string>>;

const datesEntry = 'keys.json';
const pemSuffix = '.pem';
const keptSuffix = '.unreadable';
/** So that the Secret stays far below its limit of a mebibyte. */
const maxKept = 20;
const maxKeptChars = 2 ** 14;
/** Of an entry of a Secret: with a longer one nothing could be written any more. */
const maxNameLength = 253;

/**
 * The data of the Secret that keeps the signing keys: `<kid>.pem` (PKCS#8) for each, and `keys.json` with their dates.
 * An administrator revokes a key by removing its `.pem` entry, or all of them by deleting the Secret.
 */
export function toSecretData(keys: readonly SigningKey[]): SecretData {
  const sorted = [...keys].sort((one, other) => (one.kid < other.kid ? -1 : 1));
  const dates = sorted.map(({ kid, createdAt, activeFrom, maxLife }) => [
    kid,
    { createdAt, activeFrom, longestLife: maxLife },
  ]);
  return {
    [datesEntry]: encode(JSON.stringify(Object.fromEntries(dates), undefined, 2)),
    ...Object.fromEntries(sorted.map((key) => [key.kid + pemSuffix, encode(pemOf(key))])),
  };
}

export interface StoredSigningKeys {
  readonly keys: readonly SigningKey[];
  /** `kid`s that have dates but no private key any more: whatever they signed is to be replaced at once. */
  readonly revoked: readonly string[];
  /** Names of `.pem` entries that hold no P-256 key, or another key than their name says. They are not used. */
  readonly unusable: readonly string[];
}

/**
 * Reads the Secret's data. A key without readable dates stays published and counts as due for rotation: `maxLife`, the longest
 * that it may have signed for, is then the one given here (seconds). Never throws.
 */
export async function fromSecretData(
  data: SecretData | undefined,
  maxLife: number,
): Promise<StoredSigningKeys> {
  const entries = Object.entries(data ?? {}).filter(([name]) => name.endsWith(pemSuffix));
  const dates = readDates(data?.[datesEntry]);
  const read = await Promise.all(
    entries.map(async ([name, value]) => {
      const kid = name.slice(0, -pemSuffix.length);
      const key = await readSigningKey(decode(value), parseDates(dates[kid], maxLife));
      return { name, key: key?.kid === kid ? key : undefined };
    }),
  );
  const keys = read.flatMap(({ key }) => key ?? []);
  return {
    keys,
    revoked: Object.keys(dates).filter((kid) => !keys.some((key) => key.kid === kid)),
    unusable: read.filter(({ key }) => key === undefined).map(({ name }) => name),
  };
}

/**
 * Entries that hold no usable key, under names that are not read: what an editor or a restore has spoilt may be all that is
 * left of the key behind the tokens that are out.
 */
export function keptEntries(data: SecretData | undefined, unusable: readonly string[]): SecretData {
  const earlier = Object.entries(data ?? {}).filter(([name]) => name.endsWith(keptSuffix));
  const spoilt = unusable.map((name): [string, string] => [name + keptSuffix, data?.[name] ?? '']);
  const kept = [...earlier, ...spoilt].filter(
    ([name, value]) => name.length <= maxNameLength && value.length <= maxKeptChars,
  );
  return Object.fromEntries(kept.slice(-maxKept));
}

function parseDates(value: unknown, maxLife: number): SigningKeyDates {
  const dates = asObject(value);
  return {
    createdAt: asCount(dates['createdAt']) ?? 0,
    activeFrom: asCount(dates['activeFrom']) ?? 0,
    maxLife: asCount(dates['longestLife']) ?? maxLife,
  };
}

function readDates(value: string | undefined): Readonly<Record<string, unknown>> {
  try {
    return asObject(JSON.parse(decode(value ?? '')));
  } catch {
    return {};
  }
}

const pemOf = ({ privateKey }: SigningKey): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (text: unknown): string => Buffer.from(asText(text) ?? '', 'base64').toString();
