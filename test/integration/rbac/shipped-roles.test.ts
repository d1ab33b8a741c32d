import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { group, groups, serviceAccounts, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { type ApiClient, clientFor } from '../admission/api-client.ts';
import { credentialKinds } from '../admission/objects.ts';
import { type Rendered, render } from '../config/render.ts';
import { describePermission, permissionsOf, type RBACObject, type Rule } from './permissions.ts';

const operator = { kind: 'ServiceAccount', name: serviceAccounts.operator, namespace: systemNamespace };
const username = `system:serviceaccount:${systemNamespace}:${serviceAccounts.operator}`;

/** The verbs by which RBAC lets somebody gain rights that they do not have. */
const gainful = ['impersonate', 'bind', 'escalate', 'approve', 'sign', 'attest', 'use', 'use-as-admin'];

const credentials = credentialKinds.map(({ plural }) => plural);

describe('the shipped roles', async () => {
  const plane = await sharedControlPlane();
  const everything = await render(plane, 'default');
  const rbac = everything.filter(({ apiVersion }) =>
    apiVersion.startsWith('rbac.'),
  ) as unknown as RBACObject[];
  const rules: readonly Rule[] = rbac.flatMap(({ rules: found }) => found ?? []);

  it('have no wildcard and no path, but for what the gateway may do as the user of a credential', () => {
    expect(rules.length).toBeGreaterThan(5);
    const isAsUser = ({ verbs }: Rule) => verbs.every((verb) => verb.startsWith('impersonate-on:user-info:'));
    const asUser = rbac.filter(({ rules: of }) => of?.some(isAsUser)).map(({ metadata }) => metadata.name);
    expect(asUser).toEqual(['latchkey-gateway']);
    expect(rules.flatMap(({ verbs }) => verbs).filter((verb) => verb.includes('*'))).toEqual([]);
    for (const { apiGroups = [], resources = [], nonResourceURLs = [] } of rules.filter(
      (rule) => !isAsUser(rule),
    )) {
      expect([...apiGroups, ...resources].filter((part) => part.includes('*'))).toEqual([]);
      expect(nonResourceURLs).toEqual([]);
    }
  });

  it('let no one gain rights, but those that are named for it', () => {
    const found = rbac.flatMap(({ metadata, rules: of }) =>
      (of ?? [])
        .flatMap(({ verbs }) => verbs.filter((verb) => gainful.includes(verb)))
        .map((verb) => `${metadata.name}: ${verb}`),
    );
    expect(found).toEqual([
      'latchkey-use: use',
      'latchkey-use-space: use',
      'latchkey-use-cluster: use',
      'latchkey-use-as-admin: use',
      'latchkey-use-as-admin: use-as-admin',
    ]);
  });

  it.each(['latchkey-viewer', 'latchkey-self-service', 'latchkey-revoker'])(
    'do not show a credential to a holder of %s',
    (name) => {
      const reading = ['get', 'list', 'watch', 'patch', 'deletecollection'];
      const of = rbac.find(({ metadata }) => metadata.name === name)?.rules ?? [];
      const shown = of.filter(({ verbs }) => verbs.some((verb) => reading.includes(verb)));
      expect(of.length).toBeGreaterThan(0);
      for (const { resources = [] } of shown)
        expect(resources.filter((resource) => credentials.includes(resource))).toEqual([]);
    },
  );

  it('let none but the operator and what records activity write a status, as the refusal of a bad patch shows the key', () => {
    const ofStatus = ({ resources = [] }: Rule) => resources.some((name) => name.endsWith('/status'));
    const writers = rbac.flatMap(({ metadata, rules: of = [] }) =>
      (of ?? []).filter(ofStatus).flatMap(({ verbs }) => verbs.map((verb) => `${metadata.name}: ${verb}`)),
    );
    expect(new Set(writers)).toEqual(
      new Set([
        'latchkey-operator: patch',
        'latchkey-activity: patch',
        // The gateway holds it as latchkey-activity alone.
        'latchkey-gateway: impersonate-on:serviceaccount:patch',
      ]),
    );
  });

  it('are bound to our own accounts alone, each to roles of its name, and to the groups that the gateway adds', () => {
    const bindings = rbac.flatMap(({ subjects = [], roleRef }) =>
      subjects.map(({ kind, name, namespace }) => [kind, namespace, name, roleRef?.name]),
    );
    const own = Object.values(serviceAccounts).map((name) => ['ServiceAccount', systemNamespace, name, name]);
    const distinct = new Set(bindings.map((binding) => binding.join(' ')));
    const added = [
      ['Group', undefined, groups.selfService, 'latchkey-self-service'],
      ['Group', undefined, groups.selfServiceApply, 'latchkey-self-service-apply'],
    ];
    expect(distinct).toEqual(new Set([...own, ...added].map((binding) => binding.join(' '))));
  });

  it('are not aggregated into the roles that Kubernetes ships', () => {
    for (const role of rbac as unknown as Rendered[]) {
      const labels = Object.keys(role.metadata.labels ?? {});
      expect(labels.filter((label) => label.includes('aggregate-to'))).toEqual([]);
      expect(role).not.toHaveProperty('aggregationRule');
    }
  });

  it('name our own objects as the program does', () => {
    const names = rules.flatMap(({ resourceNames = [] }) => resourceNames);
    const { reader, activity } = serviceAccounts;
    const { lease, discovery, sitePolicy } = systemObjects;
    expect(new Set(names)).toEqual(new Set([lease, discovery, sitePolicy, reader, activity]));
  });

  it('give people who run the platform our kinds, no Secret and no status', () => {
    const admin = rbac.find(({ metadata }) => metadata.name === 'latchkey-admin');
    expect(new Set(admin?.rules?.flatMap(({ apiGroups }) => apiGroups))).toEqual(new Set([group]));
    expect(
      admin?.rules?.flatMap(({ resources = [] }) => resources).filter((name) => name.includes('/')),
    ).toEqual([]);
  });

  describe('of the operator, as the API server reads them', () => {
    let client: ApiClient;
    beforeAll(async () => {
      await applyKustomization(plane, 'default');
      client = await clientFor(plane, username, ['system:serviceaccounts', 'system:authenticated']);
    });
    afterAll(async () => await client.close());

    const may = async (attributes: object): Promise<boolean> => {
      const body = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: attributes },
      };
      const answer = await client.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        body,
      });
      return answer.body.status.allowed;
    };
    const allowed = permissionsOf(rbac, operator).map((permission) => ({
      text: describePermission(permission),
      permission,
    }));

    it.each(allowed)('allow: $text', async ({ permission }) => {
      const { namespace, name, resource: whole, ...rest } = permission;
      const [resource, subresource = ''] = whole.split('/');
      const place = { namespace: namespace === '*' ? '' : namespace, name: name === '*' ? '' : name };
      expect(await may({ ...rest, ...place, resource, subresource })).toBe(true);
    });

    it.each([
      ['impersonate a user', { verb: 'impersonate', resource: 'users' }],
      ['impersonate a group', { verb: 'impersonate', resource: 'groups' }],
      [
        'impersonate a service account',
        { verb: 'impersonate', resource: 'serviceaccounts', namespace: systemNamespace },
      ],
      ['create a key', { verb: 'create', group, resource: 'ownedaccesskeys' }],
      ['create a token', { verb: 'create', group, resource: 'directclusterendpointtokens' }],
      ['delete keys in bulk', { verb: 'deletecollection', group, resource: 'ownedaccesskeys' }],
      ['delete Secrets in bulk', { verb: 'deletecollection', resource: 'secrets' }],
      [
        'request a token of an account',
        { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace: systemNamespace },
      ],
      [
        'bind a role',
        { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' },
      ],
      [
        'change a policy',
        { verb: 'update', group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' },
      ],
      [
        'delete a binding of a policy',
        {
          verb: 'delete',
          group: 'admissionregistration.k8s.io',
          resource: 'mutatingadmissionpolicybindings',
        },
      ],
      [
        'change a definition',
        { verb: 'patch', group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
      ],
      ['read ConfigMaps of others', { verb: 'get', resource: 'configmaps', namespace: 'kube-system' }],
      [
        'change a ConfigMap of others',
        { verb: 'patch', resource: 'configmaps', namespace: 'kube-system', name: 'coredns' },
      ],
      [
        'take over a Lease of others',
        { verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' },
      ],
      ['run a pod', { verb: 'create', resource: 'pods', namespace: systemNamespace }],
      [
        'run a command in a pod',
        { verb: 'create', resource: 'pods', subresource: 'exec', namespace: systemNamespace },
      ],
      [
        'change its own Deployment',
        { verb: 'patch', group: 'apps', resource: 'deployments', namespace: systemNamespace },
      ],
    ])('do not allow: %s', async (_, attributes) => {
      expect(await may(attributes)).toBe(false);
    });
  });
});
