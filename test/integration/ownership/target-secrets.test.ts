import {
  clusters,
  virtualClusterInstances as instances,
  type Resource,
  spaceInstances as spaces,
} from '../../../src/api/resources.ts';
import type { Person } from './people.ts';
import { type Attempt, type Content, describeRows, type Row } from './rows.ts';

const noSecret = [
  403,
  'spec.kubeConfigSecretRef: you need the verb get on the Secret, also on the default one (vc- and the name of the ' +
    'virtual cluster) when the field is absent; have it granted, or name a Secret that you may get',
] as const;
const notOurs = [
  403,
  'spec.kubeConfigSecretRef: the Secret must not be in latchkey-system or latchkey-targets, where Latchkey keeps its own; ' +
    'put the administrator kubeconfig into another namespace',
] as const;
const noCluster = [
  403,
  'spec.clusterRef.cluster: you need the verb bind-namespace on the Cluster; have it granted, or name a ' +
    'Cluster on which you hold it',
] as const;
const allowed = 'allowed' as const;

const creates =
  (resource: Resource) =>
  (
    who: Person,
    does: string,
    content: Content,
    ...[answer, flavour]: readonly [Row['answer'], ('apply' | 'generateName')?]
  ): Row => ({
    who,
    does: flavour === undefined ? does : `${does} by ${flavour}`,
    resource,
    attempt: { verb: 'create', ...(flavour && { flavour }) },
    content,
    answer,
  });

const instance = creates(instances);
const secret = (name: string, key?: string) => ({ kubeConfigSecretRef: { name, ...(key && { key }) } });
const virtualCluster = (name: string) => ({ clusterRef: { virtualCluster: name } });

describeRows('the administrator kubeconfig of an instance', [
  instance(
    'mallory',
    'uses no Secret of a namespace by the name that it has by default',
    { spec: {} },
    noSecret,
  ),
  instance(
    'mallory',
    'uses no Secret whose name the server has still to choose',
    {},
    noSecret,
    'generateName',
  ),
  instance(
    'mallory',
    'uses no Secret of a virtual cluster that she names',
    { spec: virtualCluster('shop') },
    noSecret,
  ),
  instance('mallory', 'uses no Secret that its creator may not get', { spec: secret('other') }, noSecret),
  instance(
    'mallory',
    'gains nothing by an entry of her choice',
    { spec: { kubeConfigSecretRef: { key: 'value' } } },
    noSecret,
  ),
  instance('mallory', 'gains nothing by an empty reference', { spec: { kubeConfigSecretRef: {} } }, noSecret),
  instance(
    'mallory',
    'sends no token of an administrator to a server of her choice',
    { spec: { server: 'https://mallory.example' } },
    noSecret,
  ),
  instance(
    'getless',
    'may write Secrets, not get them, and sends none to a server of their choice',
    { spec: { ...secret('other'), server: 'https://mallory.example' } },
    noSecret,
  ),
  instance(
    'keeper',
    'names the server for a Secret of their own',
    { spec: { ...secret('mine'), server: 'https://shop.example.com' } },
    allowed,
  ),
  instance('getless', 'may write Secrets and not get them', { spec: secret('other') }, noSecret),
  instance('root', 'runs the platform and may not get Secrets', { spec: {} }, noSecret),
  instance('root', 'runs the platform and may not get Secrets', { spec: {} }, noSecret, 'apply'),
  instance('createless', 'needs no other verb', { spec: secret('other') }, allowed),
  instance('updateless', 'needs no other verb', { spec: secret('other') }, allowed),
  instance('alice', 'gets all Secrets there', { spec: {} }, allowed),
  instance('alice', 'gets all Secrets there', {}, allowed, 'generateName'),
  instance('argocd', 'gets all Secrets', { spec: secret('other', 'value') }, allowed, 'apply'),
  instance('master', 'gets all Secrets', { spec: secret('other') }, allowed),
  instance('keeper', 'names their own', { spec: secret('mine') }, allowed),
  instance('keeper', 'names an entry of their own', { spec: secret('mine', 'value') }, allowed),
  instance(
    'keeper',
    'names the virtual cluster whose Secret they may get',
    { spec: virtualCluster('mine') },
    allowed,
  ),
  instance(
    'keeper',
    'calls the instance as that virtual cluster',
    { spec: {}, metadata: { name: 'mine' } },
    allowed,
  ),
  instance(
    'keeper',
    'names an entry only, of the Secret of that virtual cluster',
    { spec: { ...virtualCluster('mine'), kubeConfigSecretRef: { key: 'value' } } },
    allowed,
  ),
  instance(
    'keeper',
    'cannot hide a Secret behind the name of that virtual cluster',
    { spec: { ...virtualCluster('mine'), ...secret('other') } },
    noSecret,
  ),
  instance(
    'keeper',
    'cannot hide a virtual cluster behind the name of the instance',
    { spec: virtualCluster('other'), metadata: { name: 'mine' } },
    noSecret,
  ),
]);

const immutable = (field: string) => [422, new RegExp(`spec\\.${field} cannot change; delete the`)] as const;
const updates = (
  resource: Resource,
  row: Pick<Row, 'who' | 'does' | 'content' | 'answer'> & {
    before: NonNullable<Row['before']>;
    flavour?: Extract<Attempt, { verb: 'update' }>['flavour'];
  },
): Row => {
  const { flavour = 'PUT', ...rest } = row;
  return { ...rest, does: `${row.does} by ${flavour}`, resource, attempt: { verb: 'update', flavour } };
};
const alices = { by: 'alice', spec: {} } as const;

describeRows('an instance that exists', [
  ...(['PUT', 'merge patch', 'JSON patch', 'apply', 'forced apply'] as const).flatMap((flavour) => [
    updates(instances, {
      who: 'root',
      does: 'does not lead it to another Secret',
      flavour,
      before: alices,
      content: { spec: secret('other') },
      answer: immutable('kubeConfigSecretRef'),
    }),
    updates(instances, {
      who: 'root',
      does: 'does not send the token in its Secret to a server of their choice',
      flavour,
      before: alices,
      content: { spec: { server: 'https://root.example' } },
      answer: immutable('server'),
    }),
    updates(instances, {
      who: 'root',
      does: 'changes what does not lead to a Secret, without a right on it,',
      flavour,
      before: alices,
      content: { spec: { displayName: 'Shop' }, metadata: { annotations: { note: 'x' } } },
      answer: allowed,
    }),
  ]),
  updates(instances, {
    who: 'mallory',
    does: 'does not lead it to another virtual cluster',
    before: alices,
    content: { spec: virtualCluster('shop') },
    answer: immutable('clusterRef'),
  }),
  updates(instances, {
    who: 'mallory',
    does: 'does not lead it to the Secret that counts by default',
    before: { by: 'alice', spec: secret('other') },
    content: { spec: { kubeConfigSecretRef: null } },
    answer: immutable('kubeConfigSecretRef'),
  }),
  {
    who: 'mallory',
    does: 'deletes it without a right on its Secret',
    resource: instances,
    attempt: { verb: 'delete' },
    before: alices,
    answer: allowed,
  },
]);

const cluster = creates(clusters);
const at = (namespace: string, name: string) => ({ spec: { kubeConfigSecretRef: { namespace, name } } });

describeRows('the administrator kubeconfig of a Cluster', [
  cluster('mallory', 'uses no Secret that she may not get', at('default', 'mine'), noSecret),
  cluster('mallory', 'uses no Secret that she may not get', at('default', 'mine'), noSecret, 'generateName'),
  cluster('getless', 'may write Secrets and not get them', at('default', 'mine'), noSecret),
  cluster('root', 'runs the platform and may not get Secrets', at('default', 'mine'), noSecret),
  cluster('root', 'runs the platform and may not get Secrets', at('default', 'mine'), noSecret, 'apply'),
  cluster('keeper', 'uses none besides their own', at('default', 'other'), noSecret),
  cluster('keeper', 'uses none of another namespace', at('kube-system', 'mine'), noSecret),
  cluster('alice', 'uses none of another namespace', at('kube-system', 'mine'), noSecret),
  cluster('mallory', 'uses no Secret of Latchkey', at('latchkey-system', 'latchkey-signing-keys'), notOurs),
  cluster('argocd', 'uses no Secret of Latchkey', at('latchkey-system', 'latchkey-signing-keys'), notOurs),
  cluster(
    'argocd',
    'uses no Secret of Latchkey',
    at('latchkey-targets', 'latchkey-target-1'),
    notOurs,
    'apply',
  ),
  cluster('mallory', 'uses no access to a target', at('latchkey-targets', 'latchkey-target-1'), notOurs),
  cluster('master', 'uses no access to a target', at('latchkey-targets', 'latchkey-target-1'), notOurs),
  cluster('master', 'uses no Secret of Latchkey', at('latchkey-system', 'latchkey-signing-keys'), notOurs),
  cluster('master', 'uses no Secret of Latchkey', at('latchkey-system', 'any'), notOurs, 'generateName'),
  cluster('keeper', 'uses their own', at('default', 'mine'), allowed),
  cluster('master', 'uses any other', at('kube-system', 'any'), allowed),
  cluster('mallory', 'needs no right without a Secret', { spec: {} }, allowed),
  cluster(
    'mallory',
    'needs no right on a Secret for a direct endpoint',
    { spec: { directEndpoint: { host: 'east.example.com' } } },
    allowed,
  ),
  updates(clusters, {
    who: 'root',
    does: 'does not give a Secret to one that has none',
    before: { by: 'mallory', spec: {} },
    content: at('default', 'mine'),
    answer: immutable('kubeConfigSecretRef'),
  }),
  updates(clusters, {
    who: 'root',
    does: 'changes what does not lead to a Secret, without a right on it,',
    flavour: 'merge patch',
    before: { by: 'keeper', ...at('default', 'mine') },
    content: { spec: { displayName: 'East' } },
    answer: allowed,
  }),
]);

const space = creates(spaces);
const bound = (name: string, namespace = 'shop') => ({ spec: { clusterRef: { cluster: name, namespace } } });

describeRows('a Cluster that a space or an instance names', [
  space('mallory', 'has no namespace of it used', bound('east'), noCluster),
  space('mallory', 'has no namespace of it used', bound('east', 'kube-system'), noCluster, 'generateName'),
  space('root', 'runs the platform, and has no namespace of it used', bound('west'), noCluster, 'apply'),
  space('keeper', 'has no namespace used of one where they may not', bound('west'), noCluster),
  space('keeper', 'has one used of the one where they may', bound('east'), allowed),
  space('master', 'has any used', bound('west'), allowed),
  space('mallory', 'needs no right without one', { spec: {} }, allowed),
  updates(spaces, {
    who: 'mallory',
    does: 'does not lead it elsewhere',
    before: { by: 'keeper', ...bound('east') },
    content: bound('east', 'kube-system'),
    answer: immutable('clusterRef'),
  }),
  updates(spaces, {
    who: 'mallory',
    does: 'changes what does not lead to a Cluster',
    before: { by: 'keeper', ...bound('east') },
    content: { spec: { displayName: 'Shop' } },
    answer: allowed,
  }),
  instance('alice', 'names none where she may not', { spec: { clusterRef: { cluster: 'east' } } }, noCluster),
  instance(
    'keeper',
    'names the one where they may',
    { spec: { clusterRef: { cluster: 'east', virtualCluster: 'mine' } } },
    allowed,
  ),
]);
