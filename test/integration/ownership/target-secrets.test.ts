import {
  clusters,
  virtualClusterInstances as instances,
  spaceInstances as spaces,
} from '../../../src/api/resources.ts';
import { type Content, describeRows } from './rows.ts';
import { changes, creations, deletes, flavours } from './shorthand.ts';

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

const named = (name: string, key?: string) => ({ kubeConfigSecretRef: { name, ...(key && { key }) } });
const secret = (name: string, key?: string): Content => ({ spec: named(name, key) });
const virtualCluster = (name: string) => ({ clusterRef: { virtualCluster: name } });
const evil = { server: 'https://mallory.example' };
const entry = { kubeConfigSecretRef: { key: 'value' } };
/** The reference is absent: the Secret counts that has the name by default. */
const byDefault: Content = { spec: {} };
const ownServer: Content = { spec: { ...named('mine'), server: 'https://shop.example.com' } };
const calledMine: Content = { spec: {}, metadata: { name: 'mine' } };
const entryOfMine: Content = { spec: { ...virtualCluster('mine'), ...entry } };
const hiddenSecret: Content = { spec: { ...virtualCluster('mine'), ...named('other') } };
const hiddenCluster: Content = { spec: virtualCluster('other'), metadata: { name: 'mine' } };
const sends = 'may write Secrets, not get them, and sends none to a server of their choice';

describeRows(
  'the administrator kubeconfig of an instance',
  creations([
    ['mallory', instances, 'uses no Secret by the name that it has by default', byDefault, noSecret],
    [
      'mallory',
      instances,
      'uses none of a name the server has still to choose',
      {},
      noSecret,
      'generateName',
    ],
    [
      'mallory',
      instances,
      'uses none of a named virtual cluster',
      { spec: virtualCluster('shop') },
      noSecret,
    ],
    ['mallory', instances, 'uses no Secret that its creator may not get', secret('other'), noSecret],
    ['mallory', instances, 'gains nothing by an entry of her choice', { spec: entry }, noSecret],
    ['mallory', instances, 'gains nothing by nothing', { spec: { kubeConfigSecretRef: {} } }, noSecret],
    ['mallory', instances, 'sends no token of an administrator elsewhere', { spec: evil }, noSecret],
    ['getless', instances, sends, { spec: { ...named('other'), ...evil } }, noSecret],
    ['keeper', instances, 'names the server for a Secret of their own', ownServer, allowed],
    ['getless', instances, 'may write Secrets and not get them', secret('other'), noSecret],
    ['root', instances, 'runs the platform and may not get Secrets', byDefault, noSecret],
    ['root', instances, 'runs the platform and may not get Secrets', byDefault, noSecret, 'apply'],
    ['createless', instances, 'needs no other verb', secret('other'), allowed],
    ['updateless', instances, 'needs no other verb', secret('other'), allowed],
    ['alice', instances, 'gets all Secrets there', byDefault, allowed],
    ['alice', instances, 'gets all Secrets there', {}, allowed, 'generateName'],
    ['argocd', instances, 'gets all Secrets', secret('other', 'value'), allowed, 'apply'],
    ['master', instances, 'gets all Secrets', secret('other'), allowed],
    ['keeper', instances, 'names their own', secret('mine'), allowed],
    ['keeper', instances, 'names an entry of their own', secret('mine', 'value'), allowed],
    ['keeper', instances, 'names the virtual cluster', { spec: virtualCluster('mine') }, allowed],
    ['keeper', instances, 'calls the instance as that virtual cluster', calledMine, allowed],
    ['keeper', instances, 'names an entry only, of the Secret of that virtual cluster', entryOfMine, allowed],
    ['keeper', instances, 'hides no Secret behind the virtual cluster', hiddenSecret, noSecret],
    [
      'keeper',
      instances,
      'hides no virtual cluster behind the name of the instance',
      hiddenCluster,
      noSecret,
    ],
  ]),
);

const immutable = (field: string) => [422, new RegExp(`spec\\.${field} cannot change; delete the`)] as const;
const alices = { by: 'alice', spec: {} } as const;
const roots: Content = { spec: { server: 'https://root.example' } };
const renamed: Content = { spec: { displayName: 'Shop' }, metadata: { annotations: { note: 'x' } } };
const free = 'changes what does not lead to a Secret, without a right on it,';
const toDefault: Content = { spec: { kubeConfigSecretRef: null } };

describeRows('an instance that exists', [
  ...changes(instances, alices, [
    ['root', flavours, 'does not lead to another Secret', secret('other'), immutable('kubeConfigSecretRef')],
    ['root', flavours, 'does not send its token to a server of their choice', roots, immutable('server')],
    ['root', flavours, free, renamed, allowed],
    ['mallory', 'PUT', 'is not led elsewhere', { spec: virtualCluster('shop') }, immutable('clusterRef')],
  ]),
  ...changes(instances, { by: 'alice', spec: named('other') }, [
    ['mallory', 'PUT', 'does not lead to the default', toDefault, immutable('kubeConfigSecretRef')],
  ]),
  ...deletes(instances, alices, [['mallory', 'deletes it without a right on its Secret', allowed]]),
]);

const at = (namespace: string, name: string) => ({ spec: { kubeConfigSecretRef: { namespace, name } } });
const [mine, signingKeys] = [at('default', 'mine'), at('latchkey-system', 'latchkey-signing-keys')];
const access = at('latchkey-targets', 'latchkey-target-1');
const direct = { spec: { directEndpoint: { host: 'east.example.com' } } };

describeRows('the administrator kubeconfig of a Cluster', [
  ...creations([
    ['mallory', clusters, 'uses no Secret that she may not get', mine, noSecret],
    ['mallory', clusters, 'uses no Secret that she may not get', mine, noSecret, 'generateName'],
    ['getless', clusters, 'may write Secrets and not get them', mine, noSecret],
    ['root', clusters, 'runs the platform and may not get Secrets', mine, noSecret],
    ['root', clusters, 'runs the platform and may not get Secrets', mine, noSecret, 'apply'],
    ['keeper', clusters, 'uses none besides their own', at('default', 'other'), noSecret],
    ['keeper', clusters, 'uses none of another namespace', at('kube-system', 'mine'), noSecret],
    ['alice', clusters, 'uses none of another namespace', at('kube-system', 'mine'), noSecret],
    ['mallory', clusters, 'uses no Secret of Latchkey', signingKeys, notOurs],
    ['argocd', clusters, 'uses no Secret of Latchkey', signingKeys, notOurs],
    ['argocd', clusters, 'uses no Secret of Latchkey', access, notOurs, 'apply'],
    ['mallory', clusters, 'uses no access to a target', access, notOurs],
    ['master', clusters, 'uses no access to a target', access, notOurs],
    ['master', clusters, 'uses no Secret of Latchkey', signingKeys, notOurs],
    ['master', clusters, 'uses no Secret of Latchkey', at('latchkey-system', 'any'), notOurs, 'generateName'],
    ['keeper', clusters, 'uses their own', mine, allowed],
    ['master', clusters, 'uses any other', at('kube-system', 'any'), allowed],
    ['mallory', clusters, 'needs no right without a Secret', { spec: {} }, allowed],
    ['mallory', clusters, 'needs no right on a Secret for a direct endpoint', direct, allowed],
  ]),
  ...changes(clusters, { by: 'mallory', spec: {} }, [
    ['root', 'PUT', 'gives no Secret to one that has none', mine, immutable('kubeConfigSecretRef')],
  ]),
  ...changes(clusters, { by: 'keeper', ...mine }, [
    ['root', 'merge patch', free, { spec: { displayName: 'East' } }, allowed],
  ]),
]);

const bound = (name: string, namespace = 'shop') => ({ spec: { clusterRef: { cluster: name, namespace } } });
const system = bound('east', 'kube-system');
const ofEast: Content = { spec: { clusterRef: { cluster: 'east', virtualCluster: 'mine' } } };

describeRows('a Cluster that a space or an instance names', [
  ...creations([
    ['mallory', spaces, 'has no namespace of it used', bound('east'), noCluster],
    ['mallory', spaces, 'has no namespace of it used', system, noCluster, 'generateName'],
    ['root', spaces, 'runs the platform, and has no namespace used', bound('west'), noCluster, 'apply'],
    ['keeper', spaces, 'has no namespace used of one where they may not', bound('west'), noCluster],
    ['keeper', spaces, 'has one used of the one where they may', bound('east'), allowed],
    ['master', spaces, 'has any used', bound('west'), allowed],
    ['mallory', spaces, 'needs no right without one', { spec: {} }, allowed],
    ['alice', instances, 'names none elsewhere', { spec: { clusterRef: { cluster: 'east' } } }, noCluster],
    ['keeper', instances, 'names the one where they may', ofEast, allowed],
  ]),
  ...changes(spaces, { by: 'keeper', ...bound('east') }, [
    ['mallory', 'PUT', 'does not lead it elsewhere', system, immutable('clusterRef')],
    ['mallory', 'PUT', 'changes what leads to no Cluster', { spec: { displayName: 'Shop' } }, allowed],
  ]),
]);
