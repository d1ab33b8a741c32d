import { group } from '../../../src/api/names.ts';
import { type ApiClient, clientFor } from '../admission/api-client.ts';
import type { World } from '../admission/world.ts';
import { grant, groupOf, inProject, type Rule } from './grants.ts';

/**
 * Who tries what. Only `root` and those who run the cluster may read credentials; only those named so may impersonate.
 */
export interface People {
  /** Creates, updates and deletes credentials, and holds the group `devs`. Keys of these tests speak for her. */
  readonly alice: ApiClient;
  /**
   * As alice, and may impersonate the users alice and build-farm, the team blue and the groups `devs` and `ops`: makes
   * credentials for others. Of the team red she may impersonate the user, of the team green the group.
   */
  readonly carol: ApiClient;
  /** As alice, without any group. */
  readonly mallory: ApiClient;
  /** As mallory, and a member of the team blue. */
  readonly tina: ApiClient;
  /** As mallory, in a group with a quote and in one with a comma in its name. */
  readonly quinn: ApiClient;
  /** The team blue itself, as a holder of its access key. */
  readonly blue: ApiClient;
  /** Deletes and patches without reading, as one who only revokes. */
  readonly warden: ApiClient;
  /** As mallory, and has two of the three verbs on all Secrets of `default` that a `secretRef` takes. */
  readonly getless: ApiClient;
  readonly createless: ApiClient;
  readonly updateless: ApiClient;
  /**
   * As mallory, and in `default` has those three verbs on the Secret `mine`, `get` on `vc-mine`, and deletes ConfigMaps and
   * Widgets. May have namespaces of the Cluster `east` used.
   */
  readonly keeper: ApiClient;
  /** As mallory, and does everything in the namespace `default`. */
  readonly janitor: ApiClient;
  /** As mallory, and deletes objects of many kinds in all namespaces. */
  readonly deleter: ApiClient;
  /** Runs the platform (latchkey-admin): may do everything to our kinds, and impersonate no one. */
  readonly root: ApiClient;
  /** As root, and sets the fields that only the platform sets, in keys for alice, too. */
  readonly platform: ApiClient;
  /** In `system:masters`. */
  readonly master: ApiClient;
  /** Made what `master` made, and is not in `system:masters` any more; has the rights of root. */
  readonly demoted: ApiClient;
  /** Argo CD's account, which may do everything. */
  readonly argocd: ApiClient;
  /** Alice, over an access key of hers: with the extra that the gateway sets. */
  readonly holder: ApiClient;
  readonly operator: ApiClient;
  readonly garbageCollector: ApiClient;
  readonly namespaceController: ApiClient;
}

export type Person = keyof People;

const everyone = 'ownership-tests-everyone';
const extra = { 'impersonate-extra-management.platform.sh%2Faccess-key': 'laptop/0b1c' };

const writing = ['create', 'update', 'delete'];
const reading = ['get', 'list', 'watch', 'patch', 'deletecollection'];

/** Kinds of which one can guess the name of the resource, rightly and, for Gateway, wrongly. */
const deletable: readonly Rule[] = [
  { apiGroups: [''], resources: ['namespaces', 'endpoints', 'configmaps'], verbs: ['delete'] },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['networkpolicies', 'ingresses', 'ingressclasses'],
    verbs: ['delete'],
  },
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['gateways'], verbs: ['delete'] },
  {
    apiGroups: ['example.com'],
    resources: ['widgets', 'policies', 'glasses', 'myendpoints'],
    verbs: ['delete'],
  },
];

const onSecrets = (verbs: readonly string[], names?: readonly string[]): Rule => ({
  apiGroups: [''],
  resources: ['secrets'],
  ...(names && { resourceNames: names }),
  verbs,
});

const known = new Map<string, Promise<People>>();

/** Gives each person their rights and a client, once for each control plane: they last as long as the worker. */
export async function peopleOf(world: World): Promise<People> {
  const { folder } = world.plane;
  const people = known.get(folder) ?? introduce(world);
  known.set(folder, people);
  return await people;
}

async function introduce(world: World): Promise<People> {
  const own = (name: string): string => `ownership-tests-${name}`;
  const person = async (name: string, groups: readonly string[]): Promise<ApiClient> =>
    await clientFor(world.plane, name, groups);
  await grant(world, [
    groupOf(everyone, [
      { apiGroups: [group], resources: ['*'], verbs: writing },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get'] },
    ]),
    groupOf(own('carol'), [
      {
        apiGroups: [''],
        resources: ['users'],
        resourceNames: ['alice', 'build-farm', 'team:blue', 'team:red'],
        verbs: ['impersonate'],
      },
      {
        apiGroups: [''],
        resources: ['groups'],
        resourceNames: ['devs', 'ops', 'team:blue', 'team:green'],
        verbs: ['impersonate'],
      },
    ]),
    groupOf(own('warden'), [
      {
        apiGroups: [group],
        resources: ['*'],
        verbs: ['update', 'patch', 'delete', 'deletecollection', 'revoke'],
      },
    ]),
    groupOf(own('root'), [{ apiGroups: [group], resources: ['*'], verbs: [...writing, ...reading] }]),
    groupOf(own('platform'), [
      { apiGroups: [group], resources: ['ownedaccesskeys'], verbs: ['manage-platform-fields'] },
      { apiGroups: [''], resources: ['users'], resourceNames: ['alice', 'root'], verbs: ['impersonate'] },
    ]),
    groupOf(own('argocd'), [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]),
    groupOf(own('keeper'), [
      { apiGroups: [group], resources: ['clusters'], resourceNames: ['east'], verbs: ['bind-namespace'] },
    ]),
    groupOf(own('deleter'), deletable),
    inProject('getless', [onSecrets(['create', 'update'])]),
    inProject('createless', [onSecrets(['get', 'update'])]),
    inProject('updateless', [onSecrets(['get', 'create'])]),
    inProject('keeper', [
      onSecrets(['get', 'create', 'update'], ['mine']),
      onSecrets(['get'], ['vc-mine']),
      { apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] },
      { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['delete'] },
    ]),
    inProject('janitor', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]),
    inProject('alice', [
      onSecrets(['get', 'create', 'update']),
      {
        apiGroups: [group],
        resources: ['virtualclusterinstances'],
        resourceNames: ['usable'],
        verbs: ['use'],
      },
    ]),
    inProject('carol', [
      {
        apiGroups: [group],
        resources: ['virtualclusterinstances'],
        resourceNames: ['usable'],
        verbs: ['use', 'use-as-admin'],
      },
      {
        apiGroups: [group],
        resources: ['virtualclusterinstances'],
        resourceNames: ['half'],
        verbs: ['use-as-admin'],
      },
    ]),
  ]);
  const alice = await person('alice', [everyone, 'devs']);
  return {
    alice,
    carol: await person('carol', [everyone, own('carol')]),
    mallory: await person('mallory', [everyone]),
    tina: await person('tina', [everyone, 'team:blue']),
    quinn: await person('quinn', [everyone, 'de"vs', 'one,two']),
    blue: await person('team:blue', [everyone, 'team:blue']),
    warden: await person('warden', [own('warden')]),
    getless: await person('getless', [everyone]),
    createless: await person('createless', [everyone]),
    updateless: await person('updateless', [everyone]),
    keeper: await person('keeper', [everyone, own('keeper')]),
    janitor: await person('janitor', [everyone]),
    deleter: await person('deleter', [everyone, own('deleter')]),
    root: await person('root', [own('root')]),
    platform: await person('platform', [own('root'), own('platform')]),
    master: world.admin,
    demoted: await person('platform-admin', [own('root')]),
    argocd: await person('system:serviceaccount:argocd:argocd-application-controller', [own('argocd')]),
    holder: world.admin.withHeaders({
      'impersonate-user': 'alice',
      'impersonate-group': everyone,
      ...extra,
    }),
    operator: world.operator,
    garbageCollector: await person('system:serviceaccount:kube-system:generic-garbage-collector', [
      own('root'),
    ]),
    namespaceController: await person('system:serviceaccount:kube-system:namespace-controller', [
      own('root'),
    ]),
  };
}
