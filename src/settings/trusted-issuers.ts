import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { isObject, type JsonObject } from '../api/json.ts';
import type { LoginMapping, MappedClaim, TrustedIssuer } from '../api/trusted-issuer.ts';
import type { Parsed, SettingType } from './types.ts';

/** A list in JSON or YAML, or the path of a file with one, which is read at once. */
export const trustedIssuers: SettingType<readonly TrustedIssuer[]> = {
  description: '`none`, a list in YAML or JSON, or the absolute path of a file with one',
  parse: (text) => {
    if (text === 'none') return { value: [] };
    const list = text.startsWith('/') ? readText(text) : text;
    return list === undefined ? { problem: `names a file that cannot be read: ${text}` } : parseList(list);
  },
};

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Ends the reading of one entry. */
class Wrong extends Error {}

const wrong = (problem: string): never => {
  throw new Wrong(problem);
};

function parseList(text: string): Parsed<readonly TrustedIssuer[]> {
  const list = parseYAML(text);
  if (!Array.isArray(list)) return { problem: 'is no list: write "- issuer: https://..." for each issuer' };
  const issuers: TrustedIssuer[] = [];
  for (const [index, entry] of list.entries()) {
    try {
      issuers.push(parseIssuer(isObject(entry) ? entry : wrong('is no object: write issuer: https://...')));
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      return { problem: `in entry ${index + 1} ${error.message}` };
    }
  }
  const problem = listProblem(issuers);
  return problem === undefined ? { value: issuers } : { problem };
}

function parseYAML(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch {
    return undefined;
  }
}

/** Two issuers whose users have the same names could speak for each other's. */
function listProblem(issuers: readonly TrustedIssuer[]): string | undefined {
  const names = issuers.map(({ issuer }) => issuer);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `names ${twice} twice: remove one`;
  const prefixes = issuers.map(({ login }) => login?.username.prefix).filter((each) => each !== undefined);
  const isShared = prefixes.some((one, index) =>
    prefixes.some((other, at) => at !== index && one.startsWith(other)),
  );
  return isShared
    ? 'has two issuers with login whose users could have the same names: give each a login.username.prefix that the other does not begin with'
    : groupsProblem(issuers);
}

/** One issuer must not hand out the rights of the other's groups by chance. Names that are written out are no chance. */
function groupsProblem(issuers: readonly TrustedIssuer[]): string | undefined {
  const all = issuers.map(({ login }) => login?.groups).filter((each) => each !== undefined);
  const isShared = all.some(({ prefix, allowed }, index) =>
    all.some(
      (other, at) =>
        at !== index &&
        prefix.startsWith(other.prefix) &&
        (allowed === undefined || other.allowed === undefined),
    ),
  );
  return isShared
    ? 'has two issuers with login whose groups could have the same names: give each a login.groups.prefix that the other does not begin with, or name the groups of both in login.groups.allowed'
    : undefined;
}

function parseIssuer(entry: JsonObject): TrustedIssuer {
  knownFields(entry, '', ['issuer', 'algorithms', 'jwksURI', 'certificateAuthority', 'login']);
  const { jwksURI, certificateAuthority, login } = entry;
  return {
    issuer: httpsURL(entry['issuer'], 'issuer'),
    algorithms: algorithmsOf(entry['algorithms']),
    ...(jwksURI === undefined ? {} : { jwksURI: httpsURL(jwksURI, 'jwksURI') }),
    ...(certificateAuthority === undefined
      ? {}
      : { certificateAuthority: certificates(certificateAuthority) }),
    ...(login === undefined ? {} : { login: parseLogin(login) }),
  };
}

function knownFields(entry: JsonObject, path: string, known: readonly string[]): void {
  const unknown = Object.keys(entry).find((field) => !known.includes(field));
  if (unknown !== undefined)
    wrong(
      `has the unknown field ${path}${unknown}: there are ${known.map((field) => path + field).join(', ')}`,
    );
}

/** Anything but a scheme, a host and a path could be read in two ways. */
function httpsURL(value: unknown, field: string): string {
  const isURL = typeof value === 'string' && /^https:\/\/[^\s?#@\\]+$/.test(value) && URL.canParse(value);
  return isURL && value.length <= 512
    ? value
    : wrong(`needs ${field}: an https URL without user, query and fragment`);
}

/** Of signatures with a key pair. With a shared secret, who can check could sign. */
const signatures = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

function algorithmsOf(value: unknown): readonly string[] {
  if (value === undefined) return ['RS256', 'ES256'];
  const isList = Array.isArray(value) && value.length > 0;
  return isList && value.every((each) => signatures.includes(each))
    ? value
    : wrong(`has algorithms that are not some of ${signatures.join(', ')}`);
}

function certificates(value: unknown): string {
  try {
    return typeof value === 'string' && new X509Certificate(value).raw.length > 0
      ? value
      : wrong(noCertificate);
  } catch {
    return wrong(noCertificate);
  }
}

const noCertificate = 'has a certificateAuthority that is no certificate in PEM';

const maxTTL = 86_400;

function parseLogin(value: unknown): LoginMapping {
  const login = isObject(value)
    ? value
    : wrong('has a login that is no object: write login: {clientID: ...}');
  knownFields(login, 'login.', ['clientID', 'username', 'groups', 'ttl']);
  const { clientID, username, groups, ttl = 43_200 } = login;
  if (typeof clientID !== 'string' || clientID === '') return wrong('needs login.clientID: the claim aud');
  if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl < 60 || ttl > maxTTL)
    return wrong(`needs a login.ttl from 60 to ${maxTTL} seconds`);
  return {
    clientID,
    username: username === undefined ? { claim: 'sub', prefix: '' } : mappedClaim(username, 'username'),
    ...(groups === undefined ? {} : { groups: groupsMapping(groups) }),
    ttl,
  };
}

/** The prefix must be written, as in an AuthenticationConfiguration of Kubernetes: without one, names can meet those of others. */
function mappedClaim(value: unknown, field: string, more: readonly string[] = []): MappedClaim {
  const mapping = isObject(value) ? value : wrong(`has a login.${field} that is no object`);
  knownFields(mapping, `login.${field}.`, ['claim', 'prefix', ...more]);
  const { claim, prefix } = mapping;
  if (typeof claim !== 'string' || claim === '')
    return wrong(`needs login.${field}.claim: the name of a claim`);
  if (typeof prefix !== 'string' || !/^[!-~]{0,64}$/.test(prefix))
    return wrong(`needs login.${field}.prefix: a text of printable ASCII, perhaps ""`);
  return { claim, prefix };
}

function groupsMapping(value: unknown): NonNullable<LoginMapping['groups']> {
  const mapping = mappedClaim(value, 'groups', ['allowed']);
  const { allowed } = value as JsonObject;
  if (allowed === undefined) return mapping;
  const isList = Array.isArray(allowed) && allowed.every((each) => /^[^*]*\*?$/.test(String(each)));
  return isList && allowed.every((each) => typeof each === 'string' && each !== '')
    ? { ...mapping, allowed }
    : wrong('has a login.groups.allowed that is no list of names; `*` may stand at the end of each');
}
