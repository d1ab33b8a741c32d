import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, isObject, type JsonObject } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import type { Platform } from '../gateway/platform.ts';
import { outputOption, readForm, shortTime, show } from '../output/output.ts';
import { describeScope } from '../output/scopes.ts';
import { connect, connectionOptions } from '../session/connection.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';

export const keysList: CommandSpec = {
  name: 'keys list',
  summary: 'Lists your access keys',
  details: ['A key with a scope sees itself and its children. No list shows a key itself, only its hash.'],
  arguments: [],
  options: { ...connectionOptions, ...outputOption },
  examples: [
    { about: 'With their scopes, ends and last uses', command: 'latchkey keys list' },
    { about: 'Users, parents and hashes too', command: 'latchkey keys list -o wide' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const items = await listKeys(connect(invocation, context));
  const now = context.now();
  show<JsonObject>(
    {
      object: { kind: 'OwnedAccessKeyList', apiVersion, metadata: {}, items },
      rows: items,
      name: (item) => `ownedaccesskey/${nameOf(item)}`,
      columns: [
        { title: 'NAME', cell: nameOf },
        { title: 'STATE', cell: (item) => stateOf(item) },
        { title: 'ENDS', cell: (item) => endOf(item, now) },
        { title: 'LAST USED', cell: (item) => ago(asObject(item['status'])['lastActivity'], now) },
        { title: 'SCOPE', cell: scopeOf },
        { title: 'USER', cell: (item) => identityOf(item), isWide: true },
        { title: 'PARENT', cell: (item) => asText(specOf(item)['accessKey']) ?? '', isWide: true },
        { title: 'DESCRIPTION', cell: (item) => asText(specOf(item)['displayName']) ?? '', isWide: true },
      ],
      none: 'You have no access keys. Make one: latchkey keys create --help',
    },
    form,
    context,
  );
  return undefined;
}

/** One page takes the gateway as long as one request may. */
const pageSize = 500;

async function listKeys(gateway: Platform): Promise<readonly JsonObject[]> {
  const all: JsonObject[] = [];
  let next = '';
  do {
    const query = new URLSearchParams({
      limit: String(pageSize),
      ...(next === '' ? {} : { continue: next }),
    });
    const page = await gateway.own(`ownedaccesskeys?${query}`);
    if (Array.isArray(page['items'])) all.push(...page['items'].filter(isObject));
    next = asText(asObject(page['metadata'])['continue']) ?? '';
  } while (next !== '');
  return all;
}

const specOf = (item: JsonObject): JsonObject => asObject(item['spec']);
const nameOf = (item: JsonObject): string => asText(asObject(item['metadata'])['name']) ?? '';

function stateOf(item: JsonObject): string {
  const { conditions } = asObject(item['status']);
  const all = (Array.isArray(conditions) ? conditions : []).map(asObject);
  const ready = all.find(({ type }) => type === 'Ready');
  if (ready?.['status'] === 'True') return 'live';
  return asText(ready?.['reason']) ?? 'Pending';
}

function endOf(item: JsonObject, now: number): string {
  const end = parseInstant(asObject(item['status'])['expirationTimestamp']);
  if (end === undefined) return 'never';
  return end > now ? `in ${shortTime(end - now)}` : `${shortTime(now - end)} ago`;
}

function ago(value: unknown, now: number): string {
  const at = parseInstant(value);
  return at === undefined ? '' : `${shortTime(now - at)} ago`;
}

function scopeOf(item: JsonObject): string {
  const { scope, accessKey } = specOf(item);
  if (scope !== undefined) return describeScope(scope);
  return accessKey === undefined ? 'none' : `(as ${accessKey})`;
}

function identityOf(item: JsonObject): string {
  const { user, team, subject } = specOf(item);
  return asText(user) ?? (asText(team) ? `team:${team}` : (asText(subject) ?? ''));
}
