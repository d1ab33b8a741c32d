import { describe, expect, it } from 'vitest';
import { ownNamespaces } from '../../../src/api/names.ts';
import {
  ownedAccessKeys as keys,
  virtualClusterInstanceKubeConfigs as kubeConfigs,
  type Resource,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { objectOf, pathOf } from '../admission/objects.ts';
import { admissionWorld, create } from '../admission/world.ts';
import { largestScope } from './largest-scope.ts';
import { type Person, peopleOf } from './people.ts';
import { type Content, describeRows, type Row } from './rows.ts';
import { type Creation, changes, creations, flavours, type Spec } from './shorthand.ts';

const refused =
  'spec.secretRef: you need the verbs get, create and update on that Secret to set it, or to change the spec of ' +
  'an object that has it; have them granted, or name a Secret that you may write';
const no = [403, refused] as const;

const place = (name: string, namespace = 'default') => ({ namespace, name });
const [mine, other] = [place('mine'), place('other')];

/** A spec that nothing else stands in the way of: a key for oneself, a kubeconfig whose key the operator checks. */
function specOf(resource: Resource, who: Person, secretRef: Spec): Spec {
  if (resource === keys) return { user: who === 'holder' ? 'alice' : who, secretRef };
  if (resource === tokens) return { secretRef };
  return { virtualClusterInstance: 'usable', accessKey: 'parent', secretRef };
}

/** Rows in which somebody creates an object whose credential goes to this Secret. */
const creates = (table: readonly Creation<Spec>[]): Row[] =>
  creations(
    table.map(([who, resource, does, secretRef, ...rest]) => [
      who,
      resource,
      does,
      { spec: specOf(resource, who, secretRef) },
      ...rest,
    ]),
  );
const allowed = 'allowed' as const;

const system = place('mine', 'kube-system');
const serviceAccounts = { spec: { secretRef: { ...place('default-token'), key: 'token' } } };
const forCI = (secretRef: Spec): Content => ({ spec: { user: 'ci', secretRef } });

describeRows('a Secret that a new credential is to go to', [
  ...[keys, tokens, kubeConfigs].flatMap((kind) =>
    creates([
      ['getless', kind, 'names none that they may not get', mine, no],
      ['createless', kind, 'names none that they may not create', mine, no],
      ['updateless', kind, 'names none that they may not update', mine, no],
      ['mallory', kind, 'has no Secret of somebody else overwritten', other, no, 'generateName'],
      ['keeper', kind, 'names none besides their own', other, no],
      ['keeper', kind, 'names their own', mine, allowed],
      ['alice', kind, 'names any of a namespace whose Secrets she may write', other, allowed],
      ['alice', kind, 'lets the server choose the name', other, allowed, 'generateName'],
    ]),
  ),
  ...creates([
    ['keeper', tokens, 'names none in another namespace that is called as theirs', system, no],
    ['alice', keys, 'names none in a namespace where she has no right', system, no],
    ['keeper', kubeConfigs, 'gains nothing by a namespace', place('other', 'kube-public'), no],
    ['alice', kubeConfigs, 'is judged in the namespace of her own', place('other', 'kube-system'), allowed],
    ['root', tokens, 'runs the platform and may not write Secrets', mine, no],
    ['root', tokens, 'runs the platform and may not write Secrets', mine, no, 'apply'],
    ['root', kubeConfigs, 'runs the platform and may not write Secrets', { name: 'mine' }, no, 'apply'],
    ['holder', keys, 'may what alice may', other, allowed],
  ]),
  ...creations([
    ['mallory', tokens, 'has no Secret of a service account overwritten', serviceAccounts, no],
    ['argocd', keys, 'may write every Secret', forCI(other), allowed],
    ['argocd', keys, 'may write every Secret', forCI(other), allowed, 'apply'],
    ...ownNamespaces.map(
      (namespace): Creation => [
        'master',
        keys,
        `names none of Latchkey in ${namespace}`,
        forCI(place('any', namespace)),
        [422, /spec\.secretRef\.namespace must not be latchkey-system or latchkey-targets/],
      ],
    ),
  ]),
]);

/** Argo CD takes every Secret in its namespace with this label for a cluster: the rights on that Secret are asked for. */
const asArgoCDReads = { labels: { 'argocd.argoproj.io/secret-type': 'cluster' } };
const to = (secretRef: Spec): Content => ({ spec: { secretRef } });
const below = { accessKey: 'parent' };
const inArgoCD = to({ ...place('any', 'argocd'), template: asArgoCDReads });
/** Two policies refuse it, and the API server shows either. */
const noOrNotTheirs = [403, /^spec\.secretRef: you need the verbs|owner|creator/] as const;
const labelled = to({ ...mine, template: asArgoCDReads });

describeRows('a Secret that an object is to name from now on', [
  ...changes(tokens, { by: 'root', spec: {} }, [
    ['root', flavours, 'adds none that they may not write', to(mine), no],
  ]),
  ...changes(tokens, { by: 'argocd', spec: below }, [
    ['argocd', flavours, 'adds any', { spec: { ...below, secretRef: mine } }, allowed],
  ]),
  ...changes(tokens, { by: 'mallory', spec: {} }, [
    ['mallory', 'PUT', 'adds none that she may not write', to(mine), no],
    ['mallory', 'PUT', 'has none labelled for Argo CD where she may not write Secrets', inArgoCD, no],
  ]),
  ...changes(tokens, { by: 'keeper', spec: { secretRef: mine } }, [
    ['keeper', 'PUT', 'redirects their own token to none that they may not write', to(other), no],
    ['keeper', 'PUT', 'moves it to another entry of their Secret', to({ ...mine, key: 'another' }), allowed],
    ['keeper', 'PUT', 'labels their own Secret as they could themselves', labelled, allowed],
  ]),
  ...changes(tokens, { by: 'alice', spec: { secretRef: other } }, [
    ['mallory', 'PUT', "does not redirect somebody's token", to(place('mallorys')), noOrNotTheirs],
  ]),
]);

/** Made for mallory by somebody who may write the Secret; she owns the key and may not. */
const mallorys = { by: 'argocd', spec: { user: 'mallory', secretRef: other, ttl: 3600 } } as const;
const turnedOff = { ...mallorys, spec: { ...mallorys.spec, disabled: true } } as const;
const withEntry = to({ ...other, template: { entries: { copy: '$(credential)' } } });
const texts: Content = { spec: { displayName: 'Hers', description: 'For the pipeline' } };
const rotated: Content = { metadata: { annotations: { 'management.platform.sh/rotate': '1' } } };

describeRows('the owner of a key that goes to a Secret which she may not write', [
  ...changes(keys, mallorys, [
    ['mallory', 'PUT', 'prolongs nothing', { spec: { ttl: 7200 } }, no],
    ['mallory', 'PUT', 'takes no limit away', { spec: { ttl: null } }, no],
    ['mallory', 'PUT', 'labels no Secret', to({ ...other, template: { labels: { app: 'hers' } } }), no],
    ['mallory', 'PUT', 'adds no entry to it', withEntry, no],
    ['mallory', 'PUT', 'adds no scope', { spec: { scope: { clusters: [{ cluster: 'east' }] } } }, no],
    ['mallory', 'PUT', 'changes no more while disabling it', { spec: { disabled: true, ttl: 7200 } }, no],
    ['mallory', 'PUT', 'disables it', { spec: { disabled: true } }, allowed],
    ['mallory', 'PUT', 'names and describes it', texts, allowed],
    ['mallory', 'PUT', 'labels it', { metadata: { annotations: { note: 'hers' } } }, allowed],
    ['mallory', 'PUT', 'has it rotated', rotated, allowed],
    ['mallory', 'PUT', 'leaves secretRef out, which stays', { spec: { secretRef: null } }, allowed],
  ]),
  ...changes(keys, turnedOff, [
    ['mallory', 'PUT', 'does not enable it', { spec: { disabled: false } }, no],
    ['mallory', 'PUT', 'leaves disabled out, which stays', { spec: { disabled: null } }, allowed],
    ['operator', 'merge patch', 'enables a key that had ended', { spec: { disabled: false } }, allowed],
  ]),
]);

describe('the largest spec that there can be', async () => {
  const world = await admissionWorld();
  const { mallory, alice } = await peopleOf(world);
  const spec = (end?: string) => ({ user: 'mallory', secretRef: other, scope: largestScope(end) });

  it('is judged when it is made and when its last name changes', async () => {
    const key = objectOf(keys, spec());
    const query = { dryRun: 'All' };
    const refusal = { status: 403, body: { message: expect.stringContaining(refused) } };
    expect(await mallory.send('POST', pathOf(keys), { body: key, query })).toMatchObject(refusal);
    expect(await alice.send('POST', pathOf(tokens), { body: tokenOf(spec()), query })).toMatchObject({
      status: 201,
    });
    const created = await create(world.admin, key);
    const put = async (changed: object) =>
      await mallory.send('PUT', pathOf(keys, key.metadata.name), {
        body: { ...created, spec: { ...created.spec, ...changed } },
        query,
      });
    expect(await put({ scope: largestScope('x') })).toMatchObject(refusal);
    expect(await put({ description: 'the largest' })).toMatchObject({ status: 200 });
  });

  const tokenOf = ({ user: _, ...rest }: ReturnType<typeof spec>): object => objectOf(tokens, rest);
});
