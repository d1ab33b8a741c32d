import type { Plain } from './plain-yaml.ts';
import { Refusal } from './refusals.ts';

/**
 * The address of the server. What the URL parser would mend in silence (white space, backslashes, missing slashes) is
 * refused; numeric hosts come back as the addresses that they mean. Throws a Refusal.
 */
export function serverOf(text: Plain | undefined): URL {
  if (typeof text !== 'string' || !/^[\x21-\x7e]{1,2048}$/.test(text)) throw new Refusal('server');
  if (!/^https:/i.test(text)) throw new Refusal('serverScheme');
  const [, authority] = /^https:\/\/([^/\\?#]+)/i.exec(text) ?? [];
  const server = URL.parse(text);
  if (authority === undefined || server === null || text.includes('\\')) throw new Refusal('server');
  if (authority.includes('@') || server.username !== '' || server.password !== '')
    throw new Refusal('serverUser');
  if (/[?#]/.test(text)) throw new Refusal('serverQuery');
  return server;
}
