import { describe, expect, it } from 'vitest';
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
import { type Attempt, type Content, describeRows, type Flavour, type Row } from './rows.ts';

const refused =
  'spec.secretRef: you need the verbs get, create and update on that Secret to set it, or to change the spec of ' +
  'an object that has it; have them granted, or name a Secret that you may write';
const no = [403, refused] as const;

const place = (name: string, namespace = 'default') => ({ namespace, name });
const [mine, other] = [place('mine'), place('other')];

/** A spec that nothing else stands in the way of: a key for oneself, a kubeconfig whose key the operator checks. */
function specOf(resource: Resource, who: Person, secretRef: object): Record<string, unknown> {
  if (resource === keys) return { user: who === 'holder' ? 'alice' : who, secretRef };
  if (resource === tokens) return { secretRef };
  return { virtualClusterInstance: 'usable', accessKey: 'parent', secretRef };
}

const creates = (
  who: Person,
  resource: Resource,
  does: string,
  ...[secretRef, rest = {}]: readonly [secretRef: object, rest?: Partial<Row>]
): Row => ({
  who,
  does: `${does}: ${resource.kind}`,
  resource,
  attempt: { verb: 'create' },
  content: { spec: specOf(resource, who, secretRef) },
  answer: no,
  ...rest,
});

const allowed = { answer: 'allowed' } as const;
const by = (flavour: 'apply' | 'generateName'): { attempt: Attempt } => ({
  attempt: { verb: 'create', flavour },
});

describeRows('a Secret that a new credential is to go to', [
  ...[keys, tokens, kubeConfigs].flatMap((resource) => [
    creates('getless', resource, 'names none that they may not get', mine),
    creates('createless', resource, 'names none that they may not create', mine),
    creates('updateless', resource, 'names none that they may not update', mine),
    creates('mallory', resource, 'has no Secret of somebody else overwritten', other, by('generateName')),
    creates('keeper', resource, 'names none besides their own', other),
    creates('keeper', resource, 'names their own', mine, allowed),
    creates('alice', resource, 'names any of a namespace whose Secrets she may write', other, allowed),
    creates('alice', resource, 'lets the server choose the name', other, {
      ...by('generateName'),
      ...allowed,
    }),
  ]),
  creates(
    'keeper',
    tokens,
    'names none in another namespace that is called as theirs',
    place('mine', 'kube-system'),
  ),
  creates('alice', keys, 'names none in a namespace where she has no right', place('mine', 'kube-system')),
  creates('mallory', tokens, 'has no Secret of a service account overwritten', place('default-token'), {
    content: { spec: { secretRef: { ...place('default-token'), key: 'token' } } },
  }),
  creates('keeper', kubeConfigs, 'gains nothing by a namespace that a kubeconfig does not have', other, {
    content: { spec: specOf(kubeConfigs, 'keeper', place('other', 'kube-public')) },
  }),
  creates(
    'alice',
    kubeConfigs,
    'is judged in the namespace of her kubeconfig',
    place('other', 'kube-system'),
    allowed,
  ),
  creates('root', tokens, 'runs the platform and may not write Secrets', mine),
  creates('root', tokens, 'runs the platform and may not write Secrets by apply', mine, by('apply')),
  creates(
    'root',
    kubeConfigs,
    'runs the platform and may not write Secrets by apply',
    { name: 'mine' },
    by('apply'),
  ),
  creates('holder', keys, 'may what alice may', other, allowed),
  creates('argocd', keys, 'may write every Secret', other, {
    ...allowed,
    content: { spec: { user: 'ci', secretRef: other } },
  }),
  creates('argocd', keys, 'may write every Secret by apply', other, {
    ...allowed,
    ...by('apply'),
    content: { spec: { user: 'ci', secretRef: other } },
  }),
  ...['latchkey-system', 'latchkey-targets'].map((namespace) =>
    creates('master', keys, `names none of Latchkey in ${namespace}`, place('any', namespace), {
      content: { spec: { user: 'ci', secretRef: place('any', namespace) } },
      answer: [422, /spec\.secretRef\.namespace must not be latchkey-system or latchkey-targets/],
    }),
  ),
]);

/** Argo CD takes every Secret in its namespace with this label for a cluster: the rights on that Secret are asked for. */
const asArgoCDReads = { labels: { 'argocd.argoproj.io/secret-type': 'cluster' } };

const flavours = ['PUT', 'merge patch', 'JSON patch', 'apply', 'forced apply'] as const;
const updates = (
  who: Person,
  flavour: Flavour,
  does: string,
  ...[before, content, rest = {}]: readonly [NonNullable<Row['before']>, Content, Partial<Row>?]
): Row => ({
  who,
  does: `${does} by ${flavour}`,
  resource: tokens,
  attempt: { verb: 'update', flavour },
  before,
  content,
  answer: no,
  ...rest,
});

describeRows('a Secret that an object is to name from now on', [
  ...flavours.map((flavour) =>
    updates(
      'root',
      flavour,
      'adds none that they may not write',
      { by: 'root', spec: {} },
      { spec: { secretRef: mine } },
    ),
  ),
  ...flavours.map((flavour) =>
    updates(
      'argocd',
      flavour,
      'adds any',
      { by: 'argocd', spec: { accessKey: 'parent' } },
      { spec: { accessKey: 'parent', secretRef: mine } },
      allowed,
    ),
  ),
  updates(
    'mallory',
    'PUT',
    'adds none that she may not write',
    { by: 'mallory', spec: {} },
    { spec: { secretRef: mine } },
  ),
  updates(
    'keeper',
    'PUT',
    'redirects their own token to none that they may not write',
    { by: 'keeper', spec: { secretRef: mine } },
    { spec: { secretRef: other } },
  ),
  updates(
    'keeper',
    'PUT',
    'moves their token to another entry of their Secret',
    { by: 'keeper', spec: { secretRef: mine } },
    { spec: { secretRef: { ...mine, key: 'another' } } },
    allowed,
  ),
  updates(
    'keeper',
    'PUT',
    'labels their own Secret as they could themselves',
    { by: 'keeper', spec: { secretRef: mine } },
    { spec: { secretRef: { ...mine, template: asArgoCDReads } } },
    allowed,
  ),
  updates(
    'mallory',
    'PUT',
    'has none labelled for Argo CD where she may not write Secrets',
    { by: 'mallory', spec: {} },
    { spec: { secretRef: { ...place('any', 'argocd'), template: asArgoCDReads } } },
  ),
  updates(
    'mallory',
    'PUT',
    "does not redirect somebody's token",
    { by: 'alice', spec: { secretRef: other } },
    { spec: { secretRef: place('mallorys') } },
    // Two policies refuse it, and the API server shows either.
    { answer: [403, /^spec\.secretRef: you need the verbs|owner|creator/] },
  ),
]);

/** Made for mallory by somebody who may write the Secret; she owns the key and may not. */
const mallorys = { by: 'argocd', spec: { user: 'mallory', secretRef: other, ttl: 3600 } } as const;
const owned = (does: string, content: Content, rest: Partial<Row> = {}): Row => ({
  ...updates('mallory', 'PUT', does, mallorys, content, rest),
  resource: keys,
});

describeRows('the owner of a key that goes to a Secret which she may not write', [
  owned('prolongs nothing', { spec: { ttl: 7200 } }),
  owned('takes no limit away', { spec: { ttl: null } }),
  owned('labels no Secret', { spec: { secretRef: { ...other, template: { labels: { app: 'hers' } } } } }),
  owned('adds no entry to it', {
    spec: { secretRef: { ...other, template: { entries: { copy: '$(credential)' } } } },
  }),
  owned('adds no scope', { spec: { scope: { clusters: [{ cluster: 'east' }] } } }),
  owned(
    'does not enable it',
    { spec: { disabled: false } },
    { before: { ...mallorys, spec: { ...mallorys.spec, disabled: true } } },
  ),
  owned('changes it while disabling it no more than otherwise', { spec: { disabled: true, ttl: 7200 } }),
  owned('disables it', { spec: { disabled: true } }, allowed),
  owned(
    'names and describes it',
    { spec: { displayName: 'Hers', description: 'For the pipeline' } },
    allowed,
  ),
  owned('labels it', { metadata: { annotations: { note: 'hers' } } }, allowed),
  owned('has it rotated', { metadata: { annotations: { 'management.platform.sh/rotate': '1' } } }, allowed),
  owned('leaves secretRef out, which stays', { spec: { secretRef: null } }, allowed),
  owned(
    'leaves disabled out, which stays',
    { spec: { disabled: null } },
    { ...allowed, before: { ...mallorys, spec: { ...mallorys.spec, disabled: true } } },
  ),
  {
    ...updates(
      'operator',
      'merge patch',
      'takes back that a key which ended is disabled',
      mallorys,
      { spec: { disabled: false } },
      allowed,
    ),
    resource: keys,
    before: { ...mallorys, spec: { ...mallorys.spec, disabled: true } },
  },
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
