import { group } from '../api/names.ts';
import { jsonText, rememberedText } from './text.ts';

/** Names of texts that the shape of Kubernetes has no field for. */
export const auditAnnotations = {
  /** The credential that the request came with, or that the operator worked on. */
  credentialKind: `${group}/credential-kind`,
  credential: `${group}/credential`,
  credentialUID: `${group}/credential-uid`,
  keyID: `${group}/key-id`,
  /** The key at the top of its chain; itself where it has no parent. */
  rootKey: `${group}/root-key`,
  rootKeyUID: `${group}/root-key-uid`,
  rootKeyID: `${group}/root-key-id`,
  /** UIDs of the credential and of all above it, nearest first. */
  chain: `${group}/chain`,
  target: `${group}/target`,
  decision: `${group}/decision`,
  error: `${group}/error`,
  upstreamAuditID: `${group}/upstream-audit-id`,
  cut: `${group}/cut`,
  tunnelSeconds: `${group}/tunnel-seconds`,
  tunnelReceived: `${group}/tunnel-received-bytes`,
  tunnelSent: `${group}/tunnel-sent-bytes`,
  /** The change of a credential, and of which. */
  action: `${group}/action`,
  changedKind: `${group}/changed-kind`,
  changed: `${group}/changed`,
  changedUID: `${group}/changed-uid`,
  changedKeyID: `${group}/changed-key-id`,
  reason: `${group}/reason`,
  requester: `${group}/requester`,
  createdWith: `${group}/created-with`,
  subject: `${group}/subject`,
  /** Of a line about several refusals. */
  count: `${group}/count`,
  truncated: `${group}/truncated`,
} as const;

export type AuditAnnotation = keyof typeof auditAnnotations;

/** Others are mostly different in each line. */
const common: ReadonlySet<string> = new Set<AuditAnnotation>(['target', 'decision', 'error', 'action']);

/** How a value of each stands in a line, with its name. */
const members = Object.fromEntries(
  Object.entries(auditAnnotations).map(([short, name]) => {
    const start = `"${name}":`;
    const write = (value: string) => start + jsonText(value);
    return [short, common.has(short) ? rememberedText(write) : write];
  }),
) as Readonly<Record<AuditAnnotation, (value: string) => string>>;

/** Members of a JSON object, without the braces. `follows`: others stand before them. */
export function annotationText(
  annotations: Partial<Record<AuditAnnotation, string | undefined>>,
  follows: boolean,
): string {
  let text = '';
  for (const name in annotations) {
    const value = annotations[name as AuditAnnotation];
    if (value === undefined) continue;
    if (text !== '' || follows) text += ',';
    text += members[name as AuditAnnotation](value);
  }
  return text;
}
