import type { Permission } from './permissions.ts';

export interface RoleUse {
  /** Allowed, and never asked for: the role gives too much, or a test is missing. */
  readonly unused: readonly Permission[];
  /** Asked for, and not allowed: the role gives too little. */
  readonly missing: readonly Permission[];
}

/** Compares what the roles of an account allow with what it asked for, in both directions. */
export function compareRoleWithUse(allowed: readonly Permission[], used: readonly Permission[]): RoleUse {
  return {
    unused: allowed.filter((permission) => !used.some((use) => covers(permission, use))),
    missing: used.filter((use) => !allowed.some((permission) => covers(permission, use))),
  };
}

/** As the RBAC authorizer decides: without a name, a rule with names never matches. */
export function covers(allowed: Permission, use: Permission): boolean {
  return (
    allowed.verb === use.verb &&
    allowed.group === use.group &&
    allowed.resource === use.resource &&
    (allowed.namespace === '*' || allowed.namespace === use.namespace) &&
    (allowed.name === '*' || (use.name !== '' && allowed.name === use.name && use.verb !== 'create'))
  );
}
