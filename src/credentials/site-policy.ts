import { asObject, asText } from '../api/json.ts';
import { systemNamespace, systemObjects } from '../api/names.ts';

/** One rule of the site policy, and its reason: the end of a message. */
export interface SiteRule<V> {
  readonly value: V;
  readonly because: string;
}

/** The rules of the site policy for credentials, beyond those that hold everywhere. */
export interface SitePolicy {
  /** Seconds, by the entry. */
  readonly maxima: ReadonlyMap<string, SiteRule<number>>;
  readonly requireEnd: SiteRule<string>;
  readonly requireScope: SiteRule<string>;
  readonly acceptPlainKey: SiteRule<string>;
  /** Entries that are unknown or cannot be read: they count as strict. */
  readonly unreadable: readonly string[];
}

const maxima = [
  'maxKeyTTL',
  ...['Login', 'User', 'Other', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'].map(
    (type) => `maxKeyTTL.${type}`,
  ),
  'maxTokenTTL',
  'maxCertificateTTL',
];

interface Option {
  readonly values: readonly string[];
  readonly absent: string;
  readonly strict: string;
}

const options = {
  requireEnd: { values: ['true', 'false', 'fixed'], absent: 'false', strict: 'fixed' },
  requireScope: { values: ['none', 'others', 'keys', 'tokens', 'all'], absent: 'none', strict: 'all' },
  acceptPlainKey: { values: ['true', 'false'], absent: 'true', strict: 'false' },
} as const satisfies Record<string, Option>;

/** The strictest maximum with which people can still work, seconds. */
const strictMaximum = 86_400;
/** Below, no one could work; above, a number of seconds is mistyped. */
const bounds = { from: 600, to: 3_153_600_000 };
const where = `in the ConfigMap ${systemNamespace}/${systemObjects.sitePolicy}`;

type Data = Readonly<Record<string, unknown>>;

/**
 * Reads the ConfigMap; absent, the site asks for nothing. It only narrows, and a mistake in it must neither stop everyone nor open
 * anything: an entry that cannot be read counts as the strictest value with which people can still work. So does each absent entry
 * when there is an unknown one, which may be that entry misspelt.
 */
export function parseSitePolicy(configMap: object | undefined): SitePolicy {
  const { data: rawData, binaryData } = asObject(configMap);
  const data = asObject(rawData);
  const strange = [
    ...(Object.keys(asObject(binaryData)).length > 0 ? ['binaryData'] : []),
    ...Object.keys(data).filter((name) => !isKnown(name)),
  ];
  const becauseStrange =
    strange[0] === undefined
      ? undefined
      : `the strictest value, because ${strange[0]} is unknown ${where}; remove or correct it there`;
  const read = <V>(name: string, parse: (text: string) => V | undefined, strict: V) =>
    readEntry(data, { name, parse, strict, becauseStrange });
  const option = (name: keyof typeof options): SiteRule<string> => {
    const { values, absent, strict } = options[name];
    const parse = (text: string) => values.find((value) => value === text);
    return read<string>(name, parse, strict) ?? { value: absent, because: '' };
  };
  return {
    maxima: new Map(
      maxima.flatMap((name) => {
        const rule = read(name, parseMaximum, strictMaximum);
        return rule === undefined ? [] : [[name, rule] as const];
      }),
    ),
    requireEnd: option('requireEnd'),
    requireScope: option('requireScope'),
    acceptPlainKey: option('acceptPlainKey'),
    unreadable: [...strange, ...Object.keys(data).filter((name) => isKnown(name) && !isReadable(data, name))],
  };
}

const isKnown = (name: string): boolean => maxima.includes(name) || Object.hasOwn(options, name);

function isReadable(data: Data, name: string): boolean {
  const text = asText(data[name]) ?? '';
  const { values } = options[name as keyof typeof options] ?? {};
  return values === undefined ? parseMaximum(text) !== undefined : values.some((value) => value === text);
}

/** Undefined where the site asks for nothing. */
function readEntry<V>(
  data: Data,
  entry: {
    readonly name: string;
    readonly parse: (text: string) => V | undefined;
    readonly strict: V;
    readonly becauseStrange: string | undefined;
  },
): SiteRule<V> | undefined {
  const { name, parse, strict, becauseStrange } = entry;
  if (!Object.hasOwn(data, name))
    return becauseStrange === undefined ? undefined : { value: strict, because: becauseStrange };
  const value = parse(asText(data[name]) ?? '');
  if (value !== undefined) return { value, because: `by ${name} ${where}` };
  return { value: strict, because: `because ${name} ${where} cannot be read; correct it there` };
}

function parseMaximum(text: string): number | undefined {
  if (!/^[1-9][0-9]{2,9}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds >= bounds.from && seconds <= bounds.to ? seconds : undefined;
}

/** Of a site that has no ConfigMap. */
export const noSitePolicy: SitePolicy = parseSitePolicy(undefined);
