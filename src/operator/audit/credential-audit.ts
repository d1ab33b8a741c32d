import { serviceAccounts, systemNamespace } from '../../api/names.ts';
import { credentialResources } from '../../api/resources.ts';
import { constantText } from '../../audit/credential.ts';
import { auditLine, newAuditID } from '../../audit/line.ts';
import type { AuditSink } from '../../audit/sink.ts';
import { type AccessKeyLookup, resolveAncestors } from '../../credentials/ancestors.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { LatchkeyError } from '../../errors.ts';
import type { Clock } from '../../kube/clock.ts';
import { objectPath } from '../../kube/resource-path.ts';
import type { TransitionEvent } from '../shared/events.ts';

export interface CredentialAuditOptions {
  readonly sink: AuditSink;
  readonly clock: Clock;
}

/** As the API server knows this process. */
const operator = {
  username: `system:serviceaccount:${systemNamespace}:${serviceAccounts.operator}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${systemNamespace}`],
};

/** By what an event calls them: what gives or takes a credential. All others only tell people something. */
const verbs: ReadonlyMap<string, string> = new Map([
  ['Issue', 'issue'],
  ['Confirm', 'confirm'],
  ['Enable', 'enable'],
  ['Refuse', 'refuse'],
  ['Delete', 'delete'],
]);

/** A line about each credential that is issued, confirmed or taken back, no matter who asked for it, and in which way. */
export class CredentialAudit {
  readonly #options: CredentialAuditOptions;

  constructor(options: CredentialAuditOptions) {
    this.#options = options;
  }

  /** Throws `ERR_AUDIT_UNAVAILABLE` where lines are required and are not written. */
  assertOpen(): void {
    if (this.#options.sink.isBlocked) throw new LatchkeyError('ERR_AUDIT_UNAVAILABLE', {});
  }

  /** `record`: after the write. */
  report(record: CredentialRecord, events: readonly TransitionEvent[], keys: AccessKeyLookup): void {
    for (const event of events) {
      const verb = verbs.get(event.action);
      if (verb !== undefined) this.#write(record, { verb, reason: event.reason }, keys);
    }
  }

  #write(
    record: CredentialRecord,
    { verb, reason }: { readonly verb: string; readonly reason: string },
    keys: AccessKeyLookup,
  ): void {
    const { sink, clock } = this.#options;
    const { kind, name, namespace, uid, requester, createdWith, status } = record;
    const resource = credentialResources[kind];
    const found = resolveAncestors(record, keys);
    const now = clock.now();
    const isTakenBack = verb === 'refuse' || verb === 'delete';
    const line = auditLine({
      auditID: newAuditID(),
      stage: 'ResponseComplete',
      requestURI: objectPath(resource, { name, ...(namespace !== undefined && { namespace }) }),
      verb,
      constant: constantText(operator, record, 'ancestors' in found ? found.ancestors : []),
      sources: [],
      object: {
        resource: resource.plural,
        ...{ name, namespace, uid },
        apiGroup: resource.group,
        apiVersion: resource.version,
      },
      code: 200,
      ...{ received: now, now },
      annotations: {
        decision: isTakenBack ? 'refuse' : 'allow',
        action: verb,
        ...{ reason, requester: requester?.user, createdWith, subject: status.subject },
      },
    });
    sink.write(line);
  }
}
