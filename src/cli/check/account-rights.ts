import { group, serviceAccounts, systemNamespace, targetsNamespace } from '../../api/names.ts';

/** The attributes of an access review. */
export type AccountRight = Readonly<Record<'verb' | 'resource', string>> &
  Partial<Readonly<Record<'group' | 'subresource' | 'namespace' | 'name', string>>>;

interface Account {
  readonly user: string;
  /** The ones that everything needs. */
  readonly rights: readonly AccountRight[];
}

const user = (account: string): string => `system:serviceaccount:${systemNamespace}:${account}`;
const keys = { group, resource: 'ownedaccesskeys' } as const;

export const accountRights: readonly Account[] = [
  {
    user: user(serviceAccounts.operator),
    rights: [
      { ...keys, verb: 'watch' },
      { ...keys, verb: 'patch' },
      { ...keys, verb: 'patch', subresource: 'status' },
      { group: 'authorization.k8s.io', resource: 'subjectaccessreviews', verb: 'create' },
      { resource: 'secrets', verb: 'create' },
      { group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies', verb: 'watch' },
      { group: 'coordination.k8s.io', resource: 'leases', verb: 'create', namespace: systemNamespace },
    ],
  },
  {
    user: user(serviceAccounts.gateway),
    rights: [
      { group: 'authentication.k8s.io', resource: 'users', verb: 'impersonate:user-info' },
      { group: 'authentication.k8s.io', resource: 'groups', verb: 'impersonate:user-info' },
      {
        ...{
          group: 'authentication.k8s.io',
          resource: 'serviceaccounts',
          verb: 'impersonate:serviceaccount',
        },
        ...{ namespace: systemNamespace, name: serviceAccounts.reader },
      },
    ],
  },
  {
    user: user(serviceAccounts.reader),
    rights: [
      { ...keys, verb: 'watch' },
      { group, resource: 'virtualclusterinstances', verb: 'watch' },
      { resource: 'namespaces', verb: 'watch' },
      { resource: 'secrets', verb: 'watch', namespace: targetsNamespace },
    ],
  },
  { user: user(serviceAccounts.activity), rights: [{ ...keys, verb: 'patch', subresource: 'status' }] },
];
