import { parseInstant } from '../../api/instant.ts';
import { asObject, asText, isObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { contextOption, kubectl } from '../locks/platform-kubectl.ts';
import { outputOption, readForm, shortTime, show } from '../output/output.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';

export const locks: CommandSpec = {
  name: 'locks',
  summary: 'For administrators: lists the locks, and how many credentials each stops',
  details: ['It asks the API server of the platform by kubectl, with your kubeconfig.'],
  arguments: [],
  options: { ...contextOption, ...outputOption },
  examples: [
    { about: 'All locks', command: 'latchkey locks' },
    { about: 'And their reasons', command: 'latchkey locks -o wide' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const found = asObject(
    parseJSON(await kubectl(invocation, context, ['get', 'credentiallocks', '-o', 'json'])),
  );
  const items = (Array.isArray(found['items']) ? found['items'] : []).filter(isObject);
  const now = context.now();
  show<JsonObject>(
    {
      object: { ...found, items },
      rows: items,
      name: (item) => `credentiallock/${nameOf(item)}`,
      columns: [
        { title: 'NAME', cell: nameOf },
        { title: 'STOPS', cell: (item) => asText(statusOf(item)['stops']) ?? '' },
        { title: 'CREDENTIALS', cell: (item) => String(statusOf(item)['stoppedCredentials'] ?? '') },
        { title: 'STATE', cell: (item) => asText(statusOf(item)['state']) ?? '' },
        { title: 'ENDS', cell: (item) => endOf(item, now) },
        { title: 'REASON', cell: (item) => asText(asObject(item['spec'])['reason']) ?? '', isWide: true },
      ],
      none: 'There are no locks.',
    },
    form,
    context,
  );
  return undefined;
}

const statusOf = (item: JsonObject): JsonObject => asObject(item['status']);
const nameOf = (item: JsonObject): string => asText(asObject(item['metadata'])['name']) ?? '';

function endOf(item: JsonObject, now: number): string {
  const end = parseInstant(asObject(item['spec'])['expirationTimestamp']);
  if (end === undefined) return 'never';
  return end > now ? `in ${shortTime(end - now)}` : `${shortTime(now - end)} ago`;
}
