import type { Permission } from './permissions.ts';

/** The fields that are read of an `audit.k8s.io/v1` Event at level Metadata. */
export interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** An audit policy that records every request of one user, and of no one else. */
export const auditPolicyFor = (username: string): object => ({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', users: [username] }, { level: 'None' }],
});

/** Reads the JSON lines of an audit log. A last line that is not whole yet is left out. */
export function auditEvents(log: string): AuditEvent[] {
  const whole = log.slice(0, log.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEvent);
}

/**
 * Lists the user's requests to the API server, each once, refusals included. Requests that everyone may make by the
 * roles that Kubernetes itself ships (discovery, versions, questions about oneself) are left out.
 */
export function usesOf(events: readonly AuditEvent[], username: string): Permission[] {
  const uses = new Map<string, Permission>();
  for (const { verb, user, impersonatedUser, objectRef } of events) {
    if ((impersonatedUser ?? user).username !== username || objectRef?.resource === undefined) continue;
    const { apiGroup = '', resource, subresource, namespace = '', name = '' } = objectRef;
    if (everybody.has(`${verb} ${resource}.${apiGroup}`)) continue;
    const use = {
      verb,
      group: apiGroup,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      namespace,
      name,
    };
    uses.set(JSON.stringify(use), use);
  }
  return [...uses.values()];
}

// The ClusterRole system:basic-user.
const everybody = new Set([
  'create selfsubjectreviews.authentication.k8s.io',
  'create selfsubjectaccessreviews.authorization.k8s.io',
  'create selfsubjectrulesreviews.authorization.k8s.io',
]);
