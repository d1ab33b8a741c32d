import { asText, type JsonObject } from '../../api/json.ts';
import { type Reply, withWarning } from './reply.ts';

/** What the words of a schema mean, where people often write the field in another way. */
const hints: readonly (readonly [pattern: RegExp, hint: (field: string) => string])[] = [
  [
    /\b(spec\.(?:ttl|certificateTTL|renewBefore)) in body must be of type integer/,
    (field) =>
      `${field} is a whole number of seconds without quotes, such as 86400 for a day; "24h" and "86400" are none`,
  ],
  // Of the three kinds only a kubeconfig has no such field.
  [
    /\bunknown field "spec\.(ttl)"/,
    (field) => `a kubeconfig has no spec.${field}: its life is spec.certificateTTL, in seconds`,
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
  const hint = schemaHint(reply.status, reply.body);
  return hint === undefined ? reply : withWarning(reply, hint);
}

export function schemaHint(status: number, body: JsonObject): string | undefined {
  if (status !== 422 && status !== 400) return undefined;
  const message = asText(body['message']) ?? '';
  for (const [pattern, hint] of hints) {
    const field = pattern.exec(message)?.[1];
    if (field !== undefined) return hint(field);
  }
  return undefined;
}
