import { asText } from '../../api/json.ts';
import { type Reply, withWarning } from './reply.ts';

/** What the words of a schema mean, where people often write the field in another way. */
const hints: readonly (readonly [pattern: RegExp, hint: (field: string) => string])[] = [
  [
    /\b(spec\.(?:ttl|certificateTTL|renewBefore)) in body must be of type integer/,
    (field) =>
      `${field} is a whole number of seconds without quotes, such as 86400 for a day; "24h" and "86400" are none`,
  ],
  [
    /\bspec\.scope\.(clusters|projects)\[\d+\] in body must be of type object/,
    (list) => `each entry of spec.scope.${list} is an object: write {${list.slice(0, -1)}: <name>}`,
  ],
  [
    /\bspec\.scope\.(spaces|virtualClusters)\[\d+\] in body must be of type object/,
    (list) =>
      `each entry of spec.scope.${list} is an object: write {project: <project>, ${list.slice(0, -1)}: <name>}`,
  ],
];

/** Says what a refusal by the schema leaves out. It repeats nothing that was sent. */
export function withSchemaHint(reply: Reply): Reply {
  if (reply.status !== 422) return reply;
  const message = asText(reply.body['message']) ?? '';
  for (const [pattern, hint] of hints) {
    const field = pattern.exec(message)?.[1];
    if (field !== undefined) return withWarning(reply, hint(field));
  }
  return reply;
}
