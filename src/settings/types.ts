import { parseCidr } from '../cidr.ts';
import type { ListenAddress } from '../listening.ts';
import { formatDuration, parseDuration } from './duration.ts';

export interface Setting<Value> {
  /** The environment variable. */
  readonly name: `LATCHKEY_${string}`;
  readonly type: SettingType<Value>;
  /** As it would be written in the environment. Absent: the setting is required. */
  readonly default?: string;
  /** One or two sentences of Markdown for docs/reference/settings.md. */
  readonly documentation: string;
}

/** Keeps the type of the value. */
export const setting = <Value>(definition: Setting<Value>): Setting<Value> => definition;

/** The settings of one command by the names that the program uses. */
export type SettingDefinitions = Readonly<Record<string, Setting<unknown>>>;

/** Definitions once they are read and checked. */
export type ValuesOf<Definitions extends SettingDefinitions> = {
  readonly [Key in keyof Definitions]: Definitions[Key] extends Setting<infer Value> ? Value : never;
};

/** How the text of an environment variable becomes a value. */
export interface SettingType<Value> {
  /** For people, e.g. `duration from 1s to 1h`. */
  readonly description: string;
  /** The value, or what is wrong and what to write instead. */
  readonly parse: (text: string) => Parsed<Value>;
}

export type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

/** An https address in exactly the form that a URL parser gives back, because issuers are compared byte by byte. */
export const httpsURL: SettingType<string> = {
  description: 'https URL without trailing slash',
  parse: (text) => {
    const problem = urlProblem(text);
    return problem === undefined ? { value: text } : { problem };
  },
};

/** For an address whose paths are ours. */
export const httpsOrigin: SettingType<string> = {
  description: 'https URL without path',
  parse: (text) => {
    const problem = urlProblem(text);
    if (problem !== undefined) return { problem };
    const { origin } = new URL(text);
    return text === origin ? { value: text } : { problem: `must not have a path: write ${origin}` };
  },
};

/** An origin as browsers send it. `none` for none. */
export const originOrNone: SettingType<string | undefined> = {
  description: `\`none\`, or ${httpsOrigin.description}`,
  parse: (text) => (text === 'none' ? { value: undefined } : httpsOrigin.parse(text)),
};

/** The name of a namespace. `none` for none. */
export const namespaceOrNone: SettingType<string | undefined> = {
  description: '`none`, or the name of a namespace',
  parse: (text) => {
    if (text === 'none') return { value: undefined };
    return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text)
      ? { value: text }
      : { problem: 'is no name of a namespace: write lower-case letters, digits and `-`, at most 63' };
  },
};

function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is no URL: write https://<host>[:<port>][/<path>]';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'must begin with https://';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password: remove them';
  if (text.includes('?') || text.includes('#')) return 'must not have a query or fragment: remove it';
  if (text.endsWith('/')) return 'must not end with a slash: remove it';
  const canonical = url.href.replace(/\/$/, '');
  if (text !== canonical) return `is not in its plain form: write ${canonical}`;
  return text.length > 255 ? 'must have at most 255 characters' : undefined;
}

/** `host:port`, `[IPv6]:port`, or `:port` for every interface. */
export const listenAddress: SettingType<ListenAddress> = {
  description: 'address',
  parse: (text) => {
    const match = /^(?:\[(?<six>[0-9a-fA-F:.%]+)\]|(?<host>[A-Za-z0-9.-]*)):(?<port>\d{1,5})$/.exec(text);
    const port = Number(match?.groups?.port);
    if (match === null || port > 65_535)
      return { problem: 'is no address: write :8080, 127.0.0.1:8080 or [::1]:8080' };
    const host = match.groups?.six ?? match.groups?.host ?? '';
    return { value: host === '' ? { port } : { host, port } };
  },
};

/** Value in milliseconds; bounds are written as durations. */
export function duration(minimum: string, maximum: string): SettingType<number> {
  const [low, high] = [bound(minimum), bound(maximum)];
  const range = `from ${formatDuration(low)} to ${formatDuration(high)}`;
  return {
    description: `duration ${range}`,
    parse: (text) => {
      const value = parseDuration(text);
      if (value === undefined) return { problem: 'is no duration: write it like 30s, 10m, 720h or 30d' };
      return value < low || value > high ? { problem: `must be a duration ${range}` } : { value };
    },
  };
}

/** The same text as `duration`, as whole seconds: for what the API counts in seconds. */
export function seconds(minimum: string, maximum: string): SettingType<number> {
  const milliseconds = duration(minimum, maximum);
  return {
    description: milliseconds.description,
    parse: (text) => {
      const parsed = milliseconds.parse(text);
      if ('problem' in parsed) return parsed;
      return parsed.value % 1_000 === 0
        ? { value: parsed.value / 1_000 }
        : { problem: 'must be whole seconds' };
    },
  };
}

function bound(text: string): number {
  const value = parseDuration(text);
  if (value === undefined) throw new TypeError(`"${text}" is no duration`);
  return value;
}

export function integer(minimum: number, maximum: number): SettingType<number> {
  const range = `whole number from ${minimum} to ${maximum}`;
  return {
    description: range,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= minimum && value <= maximum ? { value } : { problem: `must be a ${range}` };
    },
  };
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): SettingType<Choice> {
  return {
    description: `one of ${choices.join(', ')}`,
    parse: (text) => {
      const value = choices.find((choice) => choice === text);
      return value === undefined ? { problem: `must be one of ${choices.join(', ')}` } : { value };
    },
  };
}

/** Text that matches `pattern`; `rule` says in words what the pattern asks for. */
export function text(pattern: RegExp, rule: string): SettingType<string> {
  return {
    description: rule,
    parse: (value) => (pattern.test(value) ? { value } : { problem: `must be ${rule}` }),
  };
}

/** The path of a folder. `none` for none. */
export const folderOrNone: SettingType<string | undefined> = {
  description: '`none`, or an absolute path',
  parse: (text) => {
    if (text === 'none') return { value: undefined };
    return /^\/.{1,1023}$/.test(text) ? { value: text } : { problem: 'must be `none`, or an absolute path' };
  },
};

/** Ranges of addresses, separated by commas. */
export const cidrs: SettingType<readonly string[]> = {
  description: 'CIDRs, separated by commas',
  parse: (text) => {
    const entries = text.split(',').map((entry) => entry.trim());
    const wrong = entries.findIndex((entry) => parseCidr(entry) === undefined);
    if (wrong < 0) return { value: entries };
    const problem = `is no CIDR in entry ${wrong + 1}: write the first address of a range, as 10.0.0.0/8`;
    return { problem };
  },
};

/** Ranges of addresses as before, or the word `none`. */
export const cidrsOrNone: SettingType<readonly string[]> = {
  description: `\`none\`, or ${cidrs.description}`,
  parse: (text) => (text === 'none' ? { value: [] } : cidrs.parse(text)),
};
