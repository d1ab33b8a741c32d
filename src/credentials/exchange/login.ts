import type { JsonObject } from '../../api/json.ts';
import type { LoginMapping } from '../../api/trusted-issuer.ts';
import { isCleanName, isReserved, maxGroups } from '../identity.ts';
import { isText } from './check-claims.ts';

/** A person, as their token says. */
export interface Login {
  readonly user: string;
  readonly groups: readonly string[];
  /** `spec.identity` of the key. */
  readonly identity: JsonObject;
}

export type LoginResult = Login | { readonly problem: string };

/** A token with more is hardly meant for us. */
const maxTokenGroups = 100;

/** The user that a token stands for, by the mapping of the settings. `issuer` is the connector. */
export function loginOf(
  claims: JsonObject,
  { username, groups, clientID }: LoginMapping,
  issuer: string,
): LoginResult {
  const { azp } = claims;
  if (azp !== undefined && azp !== clientID) return { problem: 'azp names another client' };
  const name = claims[username.claim];
  if (!isText(name)) return { problem: `its claim ${username.claim}, the user name, is no text` };
  // Anyone could give a provider the address of somebody else.
  if (username.claim === 'email' && claims['email_verified'] !== true)
    return { problem: 'its e-mail address, the user name, is not verified' };
  const user = username.prefix + name;
  const problem = nameProblem(user);
  if (problem !== undefined) return { problem: `the user name ${quoted(user)} ${problem}` };
  const mapped = groupsOf(claims, groups);
  if ('problem' in mapped) return mapped;
  return { user, groups: mapped.groups, identity: identityOf(claims, { user, issuer, ...mapped }) };
}

interface MappedGroups {
  /** Of the key. */
  readonly groups: readonly string[];
  /** As the provider calls them. */
  readonly original: readonly string[];
}

function groupsOf(
  claims: JsonObject,
  mapping: LoginMapping['groups'],
): MappedGroups | { readonly problem: string } {
  const value = mapping === undefined ? undefined : claims[mapping.claim];
  if (mapping === undefined || value === undefined || value === null) return { groups: [], original: [] };
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!list.every((group) => isText(group)))
    return { problem: `its claim ${mapping.claim} is no list of texts` };
  if (list.length > maxTokenGroups)
    return {
      problem: `its claim ${mapping.claim} holds ${list.length} groups, and ${maxTokenGroups} are read`,
    };
  const { allowed, prefix } = mapping;
  const original = [...new Set(list)].filter(
    (group) => allowed?.some((each) => matches(each, group)) ?? true,
  );
  const groups = original.map((group) => prefix + group);
  for (const [index, group] of groups.entries()) {
    const problem = index < maxGroups ? nameProblem(group) : tooMany;
    if (problem !== undefined) return { problem: `the group ${quoted(group)} ${problem}` };
  }
  return { groups, original };
}

const tooMany = `is one more than the ${maxGroups} that a key can have: name those that count in groups.allowed of the issuer`;

const matches = (pattern: string, group: string): boolean =>
  pattern.endsWith('*') ? group.startsWith(pattern.slice(0, -1)) : group === pattern;

function nameProblem(name: string): string | undefined {
  if (name.length > maxName) return `is longer than ${maxName} characters`;
  if (!isCleanName(name)) return 'is not printable ASCII';
  return isReserved(name) ? 'begins with a reserved prefix' : undefined;
}

/** As the schema has it. */
const maxName = 256;

/** Of what is shown to a person. */
const quoted = (name: string): string => JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}...` : name);

interface IdentityParts {
  readonly user: string;
  readonly issuer: string;
  readonly original: readonly string[];
}

/** Leaves out what cannot be read: nothing is decided by it. */
function identityOf(claims: JsonObject, { user, issuer, original }: IdentityParts): JsonObject {
  const { sub, preferred_username: preferredUsername, email, email_verified: emailVerified } = claims;
  return {
    userId: sub,
    username: user,
    ...(isText(preferredUsername) ? { preferredUsername } : {}),
    ...(isText(email) ? { email } : {}),
    ...(typeof emailVerified === 'boolean' ? { emailVerified } : {}),
    groups: original,
    connector: issuer,
  };
}
