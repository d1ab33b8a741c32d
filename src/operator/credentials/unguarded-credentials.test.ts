import { beforeEach, describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  credentialObject,
  liveRecord,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { Store } from '../../kube/cache/store.ts';
import { allGuarded, type Guarded, PolicyHistory } from '../admission/policy-history.ts';
import { UnguardedChanges } from '../admission/unguarded-changes.ts';
import { credentialRules, isNoted, unguardedRefusal } from './unguarded-credentials.ts';

let store: Store<CredentialRecord>;
let changes: UnguardedChanges<CredentialRecord>;
let history: PolicyHistory;
/** In a time without policies. */
let gap = false;
/** Whether the watches of the policies have brought what the API server has. */
let isSeen = true;
let version = 0;

const clock = new FakeClock(0);

beforeEach(() => {
  [gap, isSeen, version] = [false, true, 0];
  history = new PolicyHistory({
    clock,
    readAll: async () => ({ digest: 'as seen', resourceVersion: String(version) }),
    digestOfAll: () => 'as seen',
    readGuarding: async () => 'as seen',
    digestOfGuarding: () => (isSeen ? 'as seen' : 'as it was'),
    isGuarded: () => !gap,
    onKnown: () => undefined,
  });
  begin();
});

function begin(): void {
  store = new Store();
  changes = new UnguardedChanges([store], credentialRules, history);
}

/** The policies do not judge what comes next. */
async function withoutPolicies(what: readonly Guarded[] = allGuarded): Promise<void> {
  await history.prove();
  gap = true;
  for (const each of what) history.begin(each);
}

async function withPolicies(): Promise<void> {
  gap = false;
  await history.prove();
}

async function isUnguarded(record: CredentialRecord, isRead = false): Promise<boolean> {
  // Questions keep a distance.
  clock.advance(1_000);
  await changes.judged(record, isRead);
  return changes.has(record);
}

/** The watch brings the object as it is now. */
function bring(parts: CredentialParts = {}): CredentialRecord {
  version++;
  const metadata = { resourceVersion: String(version), ...parts.metadata };
  const record = recordOf(credentialObject({ ...parts, metadata }));
  store.upsert(record);
  return record;
}

const spec = { user: 'alice', key: 'another-key-of-twenty-characters' };
const forged = { [annotations.requester]: 'root' };

describe('what was made or changed while no one stamped', () => {
  it.each<[string, CredentialParts]>([
    ['an object that is new', {}],
    ['a changed spec', { spec }],
    ['a changed stamp', { annotations: forged }],
    ['another namespace that may name it', { spec: { ...spec, allowedNamespaces: ['theirs'] } }],
  ])('%s is known, also when the policies are back', async (what, parts) => {
    if (what !== 'an object that is new') bring();
    await withoutPolicies();
    const record = bring(parts);
    expect(await isUnguarded(record)).toBe(true);
    await withPolicies();
    expect(await isUnguarded(bring({ ...parts, status: { observedGeneration: 1 } }))).toBe(true);
  });

  it('a stamp of a change beyond limits that goes in a gap is not gone', async () => {
    bring({ annotations: { [annotations.changedBeyondLimits]: 'laptop/0b1c' } });
    await withoutPolicies();
    expect(await isUnguarded(bring())).toBe(true);
  });

  it('a problem that comes and goes is no change of it', async () => {
    bring();
    await withoutPolicies();
    const padding = 'x'.repeat(1_100_000);
    const annotations = { ...forged, padding };
    expect(bring({ annotations }).problem).toBeDefined();
    await withPolicies();
    expect(await isUnguarded(bring({ annotations: forged }))).toBe(true);
  });

  it('what changes nothing of it in a gap is not meant', async () => {
    bring();
    await withoutPolicies();
    expect(
      await isUnguarded(bring({ spec: { user: 'alice', key: 'example-plain-key-of-ci', ttl: 5 } })),
    ).toBe(false);
  });

  it.each<[string, CredentialParts]>([
    ['a rotation', { annotations: { [annotations.rotate]: 'now' } }],
    ['a longer life', { spec: { ...spec, ttl: 0 } }],
    ['an end to being disabled', { spec: { ...spec, ttl: 60, disabled: false } }],
  ])('%s is known, until its owner changes what the policies judge', async (_, parts) => {
    const before = { spec: { ...spec, ttl: 60, disabled: true } };
    bring(before);
    await withoutPolicies();
    const changed = { ...before, ...parts };
    expect(await isUnguarded(bring(changed))).toBe(true);
    await withPolicies();
    const later = {
      annotations: { [annotations.rotate]: 'again' },
      spec: { ...changed.spec, disabled: true },
    };
    expect(await isUnguarded(bring({ ...later, spec: { ...later.spec, description: 'mine' } }))).toBe(true);
    expect(await isUnguarded(bring({ ...later, spec: { ...later.spec, ttl: 30 } }))).toBe(false);
  });

  it('what narrows in the same time lifts nothing', async () => {
    bring({ spec: { ...spec, ttl: 60 } });
    await withoutPolicies();
    bring({ spec: { ...spec, ttl: 6_000 } });
    expect(await isUnguarded(bring({ spec: { ...spec, ttl: 5_000 } }))).toBe(true);
  });

  it('what has an end to being disabled while they are there is not meant', async () => {
    bring({ spec: { ...spec, ttl: 60, disabled: true } });
    const record = bring({ spec: { ...spec, ttl: 0 }, annotations: { [annotations.rotate]: 'now' } });
    await withoutPolicies();
    expect(await isUnguarded(bring({ spec: { ...spec, ttl: 0 } }))).toBe(false);
    expect(await isUnguarded(record)).toBe(false);
  });

  it('what was confirmed is not meant when a new leader meets it for the first time in a gap', async () => {
    await withoutPolicies();
    const record = liveRecord();
    store.upsert(record);
    expect(await isUnguarded(record)).toBe(false);
    expect(await isUnguarded(bring({ spec }))).toBe(true);
  });

  it('what is changed again afterwards is stamped', async () => {
    await withoutPolicies();
    expect(await isUnguarded(bring())).toBe(true);
    await withPolicies();
    expect(await isUnguarded(bring({ spec }))).toBe(false);
    expect(await isUnguarded(bring())).toBe(false);
  });

  it('what is changed again before anyone knows of that time is not believed', async () => {
    await withoutPolicies();
    bring();
    await withPolicies();
    expect(await isUnguarded(bring({ spec }))).toBe(true);
  });

  it('what a watch brings long after that time was written in it all the same', async () => {
    bring();
    await withoutPolicies();
    version++;
    const late = recordOf(credentialObject({ spec, metadata: { resourceVersion: String(version) } }));
    await withPolicies();
    version++;
    await history.prove();
    store.upsert(late);
    expect(await isUnguarded(late)).toBe(true);
  });

  it('what a watch brings before the news of that time waits for them', async () => {
    expect(await isUnguarded(bring())).toBe(false);
    isSeen = false;
    const early = bring({ spec });
    await expect(isUnguarded(early)).rejects.toThrow(/has seen the last change/);
    for (const what of allGuarded) history.begin(what);
    isSeen = true;
    expect(await isUnguarded(early)).toBe(true);
  });

  /** As it is after so many more writes to other objects. */
  function later(writes: number, parts: CredentialParts = {}): CredentialRecord {
    version += writes;
    const metadata = { resourceVersion: String(version), ...parts.metadata };
    return recordOf(credentialObject({ ...parts, metadata }));
  }

  it('a change that a later list brings may have come at any time since the watch', async () => {
    bring();
    store.reach(String(version));
    await withoutPolicies();
    version += 5;
    await withPolicies();
    const record = later(5, { spec });
    store.upsert(record, 'relist');
    expect(await isUnguarded(record)).toBe(true);
  });

  it.each<[string, CredentialParts]>([
    ['is new', { name: 'new', metadata: { uid: 'new' } }],
    ['was changed', { spec }],
  ])(
    'but not before that: what a later list brings and %s is not meant by a time of long ago',
    async (_, parts) => {
      bring();
      await withoutPolicies();
      version += 5;
      await withPolicies();
      version += 5;
      // A bookmark: nothing has happened.
      store.reach(String(version));
      const record = later(5, parts);
      store.upsert(record, 'relist');
      expect(await isUnguarded(record)).toBe(false);
    },
  );

  it('a version that was read is judged too, though no watch has brought it', async () => {
    bring();
    await withoutPolicies();
    const read = later(1, { spec });
    expect(await isUnguarded(read, true)).toBe(true);
    store.upsert(read);
    await withPolicies();
    expect(await isUnguarded(read)).toBe(true);
  });

  it('nothing comes of an object that no watch has brought, before one does', async () => {
    bring();
    const other = later(1, { metadata: { uid: 'another' } });
    await expect(isUnguarded(other, true)).rejects.toThrow(/has seen the last change/);
    await expect(isUnguarded(other)).rejects.toThrow(/has seen the last change/);
  });

  it('what the operator wrote itself is not meant by a time that begins right after', async () => {
    const bare = bring({ spec: { user: 'alice' } });
    expect(await isUnguarded(bare)).toBe(false);
    store.recogniseWrites(() => true);
    const own = bring({ spec });
    store.recogniseWrites(() => false);
    version--;
    gap = true;
    for (const what of allGuarded) history.begin(what);
    expect(await isUnguarded(own)).toBe(false);
  });

  /** The watch brings a change in a time without policies, and then the operator has an answer about the same version. */
  async function isUnguardedAfter(answered: (changed: CredentialRecord, before: CredentialRecord) => void) {
    const before = bring({ spec: { user: 'alice' } });
    expect(await isUnguarded(before)).toBe(false);
    await withoutPolicies();
    const changed = bring({ spec });
    answered(changed, before);
    return await isUnguarded(changed);
  }

  it('what the operator wrote itself is not meant either where the watch brings it before the answer', async () => {
    const write = (changed: CredentialRecord, before: CredentialRecord) =>
      new MutationCache(store, clock).put(changed, before.resourceVersion);
    expect(await isUnguardedAfter(write)).toBe(false);
  });

  it.each<[string, (changed: CredentialRecord) => void]>([
    ['is read', (changed) => new MutationCache(store, clock).put(changed)],
    [
      'stands there where the operator writes what changes nothing',
      (changed) => new MutationCache(store, clock).put(changed, changed.resourceVersion),
    ],
    [
      'came before a write of the operator',
      (changed) => {
        const own = bring({ spec, status: { observedGeneration: 1 } });
        new MutationCache(store, clock).put(own, changed.resourceVersion);
      },
    ],
  ])('a change of someone else that %s is meant', async (_, answered) => {
    expect(await isUnguardedAfter(answered)).toBe(true);
  });

  it('an object that changes during the question waits for the next one', async () => {
    await withoutPolicies();
    const first = bring();
    clock.advance(1_000);
    const judged = changes.judged(first);
    bring({ spec });
    await expect(judged).rejects.toThrow(/has seen the last change/);
  });

  it('an older version of what is not believed is not believed either', async () => {
    await withoutPolicies();
    const first = bring();
    expect(await isUnguarded(first)).toBe(true);
    expect(await isUnguarded(bring({ spec }))).toBe(true);
    expect(changes.has(first)).toBe(true);
  });

  it('all that has arrived is judged by one question', async () => {
    let questions = 0;
    const known = async (what: Guarded, wanted: string) => {
      questions += 1;
      await history.known(what, wanted);
    };
    store = new Store();
    const counted = {
      known,
      isKnown: (what: Guarded, wanted: string) => history.isKnown(what, wanted),
      wasUnguarded: () => false,
    };
    changes = new UnguardedChanges([store], credentialRules, counted);
    const records = Array.from({ length: 50 }, (_, index) => {
      version += 1;
      const metadata = { uid: `uid-${index}`, resourceVersion: String(version) };
      return recordOf(credentialObject({ name: `key-${index}`, metadata }));
    });
    for (const record of records) store.upsert(record, 'list');
    for (const record of records) await changes.judged(record);
    expect(questions).toBe(1);
  });

  it('nothing is remembered of what is gone', async () => {
    await withoutPolicies();
    bring();
    const record = bring({ annotations: { [annotations.rotate]: 'now' } });
    await isUnguarded(record);
    store.remove(record.key, record.uid);
    expect(changes.has(record)).toBe(false);
    expect(changes.hasUnnoted()).toBe(false);
  });
});

describe('what is changed while only the policies of ownership are away', () => {
  const own = { user: 'alice', key: 'example-plain-key-of-ci', ttl: 60 };
  const by = (user: string) => ({ [annotations.changedBy]: user, [annotations.changedByGroups]: '[]' });
  const isKnown = async (parts: CredentialParts): Promise<boolean> => {
    bring({ spec: own });
    await withoutPolicies(['changes']);
    return await isUnguarded(bring(parts));
  };

  it.each<[string, object]>([
    ['another key', { key: 'another-key-of-twenty-characters' }],
    ['a longer life', { ttl: 61 }],
    ['another namespace', { allowedNamespaces: ['theirs'] }],
  ])('is known where it says that its owner has done it: %s', async (_, change) => {
    expect(await isKnown({ spec: { ...own, ...change }, annotations: by('alice') })).toBe(true);
  });

  it.each<[string, CredentialParts]>([
    ['narrows it', { spec: { ...own, ttl: 5 }, annotations: by('alice') }],
    ['names a stranger, and is refused for that', { spec: { ...own, ttl: 61 }, annotations: by('mallory') }],
    ['describes it', { spec: { ...own, description: 'mine' } }],
  ])('is not meant where it %s', async (_, parts) => {
    expect(await isKnown(parts)).toBe(false);
  });

  it('is known where only the template of its Secret is another one', async () => {
    const secretRef = { namespace: 'ci', name: 'out' };
    const template = { entries: { copy: '$(credential)' } };
    bring({ spec: { user: 'alice', secretRef } });
    await withoutPolicies(['changes']);
    const changed = bring({
      spec: { user: 'alice', secretRef: { ...secretRef, template } },
      annotations: by('alice'),
    });
    expect(await isUnguarded(changed)).toBe(true);
  });

  it('is not what is made then: who asked for that is recorded', async () => {
    await withoutPolicies(['changes']);
    expect(await isUnguarded(bring({ spec: own }))).toBe(false);
  });
});

describe('what was written while no operator led, and the policies are not those of before', () => {
  const key = { user: 'alice', key: 'example-plain-key-of-ci', ttl: 600 };
  const known = { observedGeneration: 1, confirmedTTL: 600 };
  const secretRef = { namespace: 'ci', name: 'out' };
  const inSecret = { user: 'alice', ttl: 600, secretRef };
  const templated = { ...inSecret, secretRef: { ...secretRef, template: { labels: { app: 'x' } } } };
  const unseen = (parts: CredentialParts): CredentialParts => ({
    ...parts,
    metadata: { generation: 2, ...parts.metadata },
    status: { ...known, ...parts.status },
  });
  const ready = (reason: string, status = 'False') => ({
    conditions: [{ type: 'Ready', status, reason, message: 'as it was' }],
  });
  const toldOf = (record: CredentialRecord, resourceVersion = '5'): boolean => {
    begin();
    store.upsert(record, 'list');
    changes.distrustSince(resourceVersion);
    return changes.has(record);
  };
  const confirmedWith = (before: CredentialParts, after: CredentialParts): CredentialRecord => {
    const { status } = confirmed(credentialObject(before));
    return recordOf(credentialObject({ ...before, ...after, status: { ...status, ...after.status } }));
  };
  const child = { kind: 'DirectClusterEndpointToken', spec: { accessKey: 'above', ttl: 600 } } as const;
  const token = { kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } } as const;
  const kubeConfig = {
    kind: 'VirtualClusterInstanceKubeConfig',
    metadata: { namespace: 'shop' },
    spec: { virtualClusterInstance: 'shop', certificateTTL: 600 },
  } as const;
  const rotated = { annotations: { [annotations.rotate]: 'now' } };

  it.each<[string, CredentialParts, CredentialParts]>([
    ['another key', { spec: key }, { spec: { ...key, key: 'another-key-of-twenty-characters' } }],
    ['a wider scope', { spec: { ...key, scope: {} } }, { spec: key }],
    ['a longer life', { spec: key }, { spec: { ...key, ttl: 601 } }],
    ['a life without an end', { spec: key }, { spec: { ...key, ttl: 0 } }],
    ['a life from the last use', { spec: key }, { spec: { ...key, ttlAfterLastActivity: true } }],
    ['a longer life of a token', token, { spec: { ttl: 601 } }],
    [
      'a longer life of a kubeconfig',
      kubeConfig,
      { spec: { ...kubeConfig.spec, certificateTTL: 0 }, metadata: { namespace: 'shop', generation: 2 } },
    ],
    ['a renewal', child, { spec: { ...child.spec, renewBefore: 60 } }],
    ['another template of its Secret', { spec: inSecret }, { spec: templated }],
    ['another namespace', { spec: key }, { spec: { ...key, allowedNamespaces: ['theirs'] } }],
    ['an end to being disabled', { spec: key }, { status: ready('Disabled') }],
    ['an end to being disabled after its life', { spec: key }, { status: ready('Expired') }],
    [
      'an end to being disabled of which nothing is left to see',
      { spec: key },
      { spec: { ...key, disabled: false }, metadata: { generation: 3 } },
    ],
    [
      'the look of a key that the operator disabled',
      { spec: key },
      {
        spec: { ...key, disabled: true },
        status: ready('Disabled'),
        metadata: {
          generation: 2,
          managedFields: [{ manager: 'latchkey-operator', fieldsV1: { 'f:spec': { 'f:disabled': {} } } }],
        },
      },
    ],
  ])('gives a credential nothing: %s', (_, before, after) => {
    expect(toldOf(confirmedWith(before, unseen(after)))).toBe(true);
  });

  it.each<[string, CredentialParts]>([
    ['a token', token],
    ['a key that the operator made', { spec: key, status: { keySource: 'Generated' } }],
  ])('gives no other credential by a rotation: %s', (_, parts) => {
    expect(
      toldOf(confirmedWith(parts, { ...parts, ...rotated, status: { ...known, ...parts.status } })),
    ).toBe(true);
  });

  it.each<[string, CredentialParts]>([
    ['a key', { spec: key }],
    ['a token', token],
    ['a kubeconfig', kubeConfig],
    ['one that was looked at already, and is refused', { spec: key, status: { observedGeneration: 1 } }],
  ])('is not believed where it was never confirmed: %s', (_, parts) => {
    expect(toldOf(recordOf(credentialObject(parts)))).toBe(true);
  });

  it.each<[string, CredentialParts, CredentialParts]>([
    ['another description', { spec: key }, { spec: { ...key, description: 'mine' } }],
    ['a shorter life', { spec: key }, { spec: { ...key, ttl: 5 } }],
    ['an emergency stop', { spec: key }, { spec: { ...key, disabled: true } }],
    [
      'an emergency stop after other changes',
      { spec: key },
      { spec: { ...key, disabled: true }, metadata: { generation: 4 } },
    ],
    ['several changes of a token', token, { spec: { ttl: 500 }, metadata: { generation: 4 } }],
    ['a namespace less', { spec: { ...key, allowedNamespaces: ['shop'] } }, { spec: key }],
    [
      'a key that stays disabled',
      { spec: key },
      { spec: { ...key, disabled: true }, status: ready('Disabled') },
    ],
    ['the use of a token', token, { metadata: { generation: 1 } }],
    ['no template of its Secret any more', { spec: templated }, { spec: inSecret }],
  ])('takes effect where it narrows: %s', (_, before, after) => {
    expect(toldOf(confirmedWith(before, unseen(after)))).toBe(false);
  });

  it('lets a key live whose rotation is not possible', () => {
    const supplied = { ...known, keySource: 'Hash' };
    expect(toldOf(confirmedWith({ spec: key }, { ...rotated, spec: key, status: supplied }))).toBe(false);
  });

  it('is what was written after the last renewal, not before', () => {
    const record = recordOf(credentialObject({ spec: key, metadata: { resourceVersion: '10' } }));
    expect(toldOf(record, '9')).toBe(true);
    expect(toldOf(record, '10')).toBe(false);
  });

  it('is known also of a kind that was listed later', async () => {
    version = 10;
    changes.distrustSince('5');
    const record = recordOf(credentialObject({ spec: key }));
    store.upsert(record, 'list');
    expect(await isUnguarded(record)).toBe(true);
    const later = recordOf(credentialObject({ name: 'later', spec: key }));
    store.upsert(later, 'watch');
    expect(await isUnguarded(later)).toBe(false);
  });
});

describe('the condition of what is not believed', () => {
  const told = (record: CredentialRecord, parts: CredentialParts = {}): CredentialRecord => {
    const { reason, message } = unguardedRefusal(record);
    const condition = { type: 'Ready', status: 'False', reason, message, observedGeneration: 1 };
    const status = { fingerprint: record.status.fingerprint, conditions: [condition] };
    return recordOf(credentialObject({ spec, ...parts, status }));
  };
  const changedOne = liveRecord({ spec });
  const newOne = recordOf(credentialObject({ spec }));

  it('says it to the next operator', () => {
    for (const record of [changedOne, newOne]) {
      expect(isNoted(record)).toBe(false);
      expect(isNoted(told(record))).toBe(true);
    }
  });

  it('is lifted when the owner of one that was confirmed changes it, and by nothing else', () => {
    const generation = 2;
    const notedAfter = (parts: object, metadata: object = { generation }) =>
      isNoted(told(changedOne, { spec: { ...spec, ...parts }, metadata: { ...metadata } }));
    expect(notedAfter({ ttl: 60 })).toBe(false);
    expect(notedAfter({ description: 'mine' })).toBe(true);
    expect(notedAfter({ disabled: true })).toBe(true);
    expect(notedAfter({ ttl: 60 }, { generation: 1 })).toBe(true);
  });

  it('stays on one that was never confirmed, because its owner is not known', () => {
    expect(isNoted(told(newOne, { spec: { ...spec, ttl: 60 }, metadata: { generation: 2 } }))).toBe(true);
  });

  it('is waited for before the next leader is told that all is known', async () => {
    await withoutPolicies();
    const record = bring({ spec });
    await history.prove();
    expect(changes.hasUnnoted()).toBe(true);
    const { conditions } = told(record);
    version++;
    store.upsert({ ...record, resourceVersion: String(version), conditions });
    expect(changes.hasUnnoted()).toBe(false);
    store.upsert({ ...record, resourceVersion: 'last', deleted: 1 });
    expect(changes.hasUnnoted()).toBe(false);
  });
});
