import { asObject, asText, isObject, type JsonObject } from '../../api/json.ts';

/** `spec.exchange` of an access key, as far as it can be read. What cannot be read fits no token. */
export interface Trust {
  /** Seconds. */
  readonly maxTTL: number;
  readonly tokens: readonly TokenRule[];
  readonly serviceAccounts: readonly ServiceAccountName[];
}

interface TokenRule {
  readonly issuer: string;
  readonly claims: readonly (readonly [name: string, value: string])[];
}

interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

const defaultMaxTTL = 3_600;
const maxMaxTTL = 86_400;
const minMaxTTL = 60;

export function parseTrust(exchange: unknown): Trust | undefined {
  if (!isObject(exchange)) return undefined;
  const { maxTTL = defaultMaxTTL } = exchange;
  if (typeof maxTTL !== 'number' || !(maxTTL >= minMaxTTL && maxTTL <= maxMaxTTL)) return undefined;
  return {
    maxTTL,
    tokens: listOf(exchange['tokens'])
      .map(parseRule)
      .filter((rule) => rule !== undefined),
    serviceAccounts: listOf(exchange['serviceAccounts'])
      .map(parseAccount)
      .filter((account) => account !== undefined),
  };
}

const listOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.map(asObject) : []);

/** The schema says all of this too, and may have come later than the object. */
function parseRule({ issuer, claims }: JsonObject): TokenRule | undefined {
  if (typeof issuer !== 'string' || !isObject(claims)) return undefined;
  const entries = Object.entries(claims);
  const isReadable = entries.every(([, value]) => typeof value === 'string' && value !== '');
  if (!isReadable || !entries.some(([name]) => !checkedAnyway.has(name))) return undefined;
  const id = publicIssuers.find(({ pattern }) => pattern.test(issuer))?.claim;
  if (id !== undefined && !(id in claims)) return undefined;
  return { issuer, claims: entries as [string, string][] };
}

function parseAccount({ namespace, name }: JsonObject): ServiceAccountName | undefined {
  const [inNamespace, called] = [asText(namespace), asText(name)];
  return inNamespace === undefined || called === undefined
    ? undefined
    : { namespace: inNamespace, name: called };
}

const checkedAnyway: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'iat', 'nbf', 'jti']);

/**
 * Issuers that anybody has tokens of, with the claim that names one repository or project for good. Names of owners and
 * repositories are given away again.
 */
const publicIssuers: readonly { readonly pattern: RegExp; readonly claim: string }[] = [
  { pattern: /^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/, claim: 'repository_id' },
  { pattern: /^https:\/\/gitlab\.com(?:\/|$)/, claim: 'project_id' },
  { pattern: /^https:\/\/agent\.buildkite\.com(?:\/|$)/, claim: 'pipeline_id' },
  { pattern: /^https:\/\/oidc\.circleci\.com(?:\/|$)/, claim: 'oidc.circleci.com/project-id' },
];

/** Whether a token whose signature and times hold fits one entry: every claim is there, as exactly that text. */
export const takesToken = ({ tokens }: Trust, issuer: string, claims: JsonObject): boolean =>
  tokens.some(
    (rule) =>
      rule.issuer === issuer &&
      rule.claims.every(([name, value]) => Object.hasOwn(claims, name) && claims[name] === value),
  );

/** Whether it names the ServiceAccount that a user name stands for. */
export const takesAccount = ({ serviceAccounts }: Trust, user: string): boolean =>
  serviceAccounts.some(({ namespace, name }) => user === `system:serviceaccount:${namespace}:${name}`);
