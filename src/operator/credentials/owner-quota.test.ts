import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { conditionTypes } from '../../api/conditions.ts';
import { formatInstant } from '../../api/instant.ts';
import { annotations } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { Store } from '../../kube/cache/store.ts';
import { OwnerQuota, ownerOf } from './owner-quota.ts';

type State = 'waiting' | 'granted' | 'ended' | 'deleted';

let version = 0;

/** A key in a state, made `age` seconds after the others. */
function keyOf(name: string, state: State, parts: CredentialParts & { readonly age?: number } = {}) {
  const { age = 0, ...others } = parts;
  const metadata = {
    resourceVersion: `${++version}`,
    creationTimestamp: formatInstant(created + age * 1_000),
    ...(state === 'deleted' ? { deletionTimestamp: formatInstant(created + 90_000) } : {}),
  };
  const object = credentialObject({ ...others, name, metadata });
  if (state === 'waiting' || state === 'deleted') return recordOf(object);
  const ready = { type: conditionTypes.ready, status: 'False', reason: reasons.expired };
  const status = state === 'ended' ? { conditions: [ready] } : {};
  return recordOf(confirmed({ ...object, status }));
}

function stageOf(limit: number) {
  const store = new Store<CredentialRecord>();
  const quota = new OwnerQuota(store, limit);
  const room: string[] = [];
  quota.onRoom((key) => room.push(key));
  const put = (record: CredentialRecord) => {
    store.upsert(record);
    return record;
  };
  return { store, quota, room, put };
}

describe('the bound of an owner', () => {
  it('lets the oldest go first, whatever the order in which they are seen', () => {
    const { quota, put } = stageOf(2);
    const [newest, oldest, middle] = [9, 1, 5].map((age) => put(keyOf(`k${age}`, 'waiting', { age })));
    expect([oldest, middle, newest].map((record) => quota.hasRoom(record as CredentialRecord))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('never takes back what was granted', () => {
    const { quota, put } = stageOf(1);
    const records = ['a', 'b', 'c'].map((name) => put(keyOf(name, 'granted')));
    expect(records.every((record) => quota.hasRoom(record))).toBe(true);
  });

  it.each<[string, State | undefined]>([
    ['is deleted', undefined],
    ['is being deleted', 'deleted'],
    ['has ended', 'ended'],
  ])('lets the oldest that waits go on when one %s', (_, state) => {
    const { store, quota, room, put } = stageOf(1);
    put(keyOf('a', 'granted'));
    const [second, third] = [1, 2].map((age) => put(keyOf(`k${age}`, 'waiting', { age })));
    if (state === undefined) store.remove('a');
    else put(keyOf('a', state));
    expect(room).toEqual(['k1']);
    expect([second, third].map((record) => quota.hasRoom(record as CredentialRecord))).toEqual([true, false]);
  });

  it('counts what has ended and is to live again after all others', () => {
    const { quota, put, store } = stageOf(1);
    const ended = put(keyOf('a', 'ended'));
    put(keyOf('b', 'waiting', { age: 5 }));
    expect(quota.hasRoom(ended)).toBe(false);
    store.remove('b');
    expect(quota.hasRoom(ended)).toBe(true);
  });

  it('is one of each owner', () => {
    const { quota, put } = stageOf(1);
    put(keyOf('a', 'granted'));
    const ofBob = put(keyOf('b', 'waiting', { annotations: { [annotations.requester]: 'bob' } }));
    expect(quota.hasRoom(ofBob)).toBe(true);
  });

  it('does not hold for system: requesters, which apply the objects of everyone', () => {
    const { quota, put } = stageOf(1);
    const stamps = { annotations: { [annotations.requester]: 'system:serviceaccount:argocd:argocd' } };
    const records = ['a', 'b'].map((name) => put(keyOf(name, 'waiting', stamps)));
    expect(records.every((record) => quota.hasRoom(record))).toBe(true);
  });

  it('is not filled by objects with forged stamps', () => {
    const { quota, put } = stageOf(1);
    const ready = { type: conditionTypes.ready, status: 'False', reason: reasons.requesterUnknown };
    put(recordOf(credentialObject({ name: 'forged', status: { conditions: [ready] } })));
    expect(quota.hasRoom(put(keyOf('a', 'waiting', { age: 5 })))).toBe(true);
  });

  it('is none with a limit of 0', () => {
    const { quota, put } = stageOf(0);
    const records = ['a', 'b'].map((name) => put(keyOf(name, 'waiting')));
    expect(records.every((record) => quota.hasRoom(record))).toBe(true);
  });

  it('agrees with a plain model of it, and reports each object that may go on later', () => {
    const events = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        state: fc.constantFrom<State | undefined>('waiting', 'granted', 'ended', 'deleted', undefined),
      }),
      { maxLength: 60 },
    );
    fc.assert(fc.property(events, fc.integer({ min: 1, max: 3 }), followsModel), { numRuns: 500 });
  });
});

const ages = { a: 3, b: 1, c: 2, d: 5, e: 4 };
type Name = keyof typeof ages;

function followsModel(
  events: readonly { readonly name: Name; readonly state: State | undefined }[],
  limit: number,
): void {
  const { store, quota, room, put } = stageOf(limit);
  const present = new Map<Name, State>();
  for (const { name, state } of events) {
    const before = admitted(present, limit);
    room.length = 0;
    present.delete(name);
    if (state === undefined) store.remove(name);
    else put(keyOf(name, state, { age: ages[name] }));
    if (state !== undefined) present.set(name, state);
    const after = admitted(present, limit);
    const waiting = [...present.keys()].filter((other) => present.get(other) === 'waiting');
    const found = waiting.filter((other) => quota.hasRoom(store.get(other) as CredentialRecord));
    expect(found.toSorted()).toEqual(after.toSorted());
    const goOn = after.filter((other) => other !== name && !before.includes(other));
    expect(room).toEqual(expect.arrayContaining(goOn));
  }
}

/** Lists keys that wait and may go on. */
function admitted(present: ReadonlyMap<Name, State>, limit: number): readonly Name[] {
  const granted = [...present.values()].filter((state) => state === 'granted').length;
  const waiting = [...present].filter(([, state]) => state === 'waiting').map(([name]) => name);
  return waiting.toSorted((a, b) => ages[a] - ages[b]).slice(0, Math.max(0, limit - granted));
}

describe('the owner of an object', () => {
  const argo = { [annotations.requester]: 'system:serviceaccount:argocd:argocd' };
  const lookup =
    (...records: readonly CredentialRecord[]) =>
    (name: string) =>
      records.find((record) => record.name === name);

  it('is its requester, also when it speaks for another', () => {
    expect(ownerOf(recordOf(credentialObject({ spec: { user: 'bob' } })), lookup())).toBe('alice');
  });

  it('is the user that it speaks for in the turn of a system: requester that made it, and never in the turn of that user', () => {
    const key = recordOf(credentialObject({ annotations: argo, spec: { user: 'bob' } }));
    expect(ownerOf(key, lookup())).toEqual([argo[annotations.requester], 'bob']);
  });

  it('is the user of the key at the top when it has its identity from there', () => {
    const top = recordOf(credentialObject({ name: 'top', spec: { team: 'ops' } }));
    const middle = recordOf(credentialObject({ name: 'middle', spec: { accessKey: 'top' } }));
    const child = recordOf(credentialObject({ annotations: argo, spec: { accessKey: 'middle' } }));
    expect(ownerOf(child, lookup(top, middle))).toEqual([argo[annotations.requester], 'team:ops']);
  });

  it('is the requester when the chain of keys has a loop, or nothing else is known', () => {
    const loop = recordOf(credentialObject({ name: 'ci', annotations: argo, spec: { accessKey: 'ci' } }));
    expect(ownerOf(loop, lookup(loop))).toEqual([argo[annotations.requester], '']);
    const unstamped = { [annotations.requester]: '' };
    expect(ownerOf(recordOf(credentialObject({ annotations: unstamped, spec: {} })), lookup())).toEqual([
      '',
      '',
    ]);
  });
});
