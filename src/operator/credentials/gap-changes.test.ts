import { beforeEach, describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  liveRecord,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { Store } from '../../kube/cache/store.ts';
import { GapChanges } from './gap-changes.ts';

let store: Store<CredentialRecord>;
let changes: GapChanges;
let gap = false;
let version = 0;

beforeEach(() => {
  store = new Store();
  gap = false;
  changes = new GapChanges([store], () => gap);
});

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
  ])('%s is known, also when the policies are back', (what, parts) => {
    if (what !== 'an object that is new') bring();
    gap = true;
    const record = bring(parts);
    expect(changes.has(record)).toBe(true);
    gap = false;
    expect(changes.has(bring({ ...parts, status: { observedGeneration: 1 } }))).toBe(true);
  });

  it('a stamp of a change beyond limits that goes in a gap is not gone', () => {
    bring({ annotations: { [annotations.changedBeyondLimits]: 'laptop/0b1c' } });
    gap = true;
    expect(changes.has(bring())).toBe(true);
  });

  it('a problem that comes and goes is no change of it', () => {
    bring();
    gap = true;
    const padding = 'x'.repeat(1_100_000);
    const annotations = { ...forged, padding };
    expect(bring({ annotations }).problem).toBeDefined();
    gap = false;
    expect(changes.has(bring({ annotations: forged }))).toBe(true);
  });

  it('what changes nothing of it in a gap is not meant', () => {
    bring();
    gap = true;
    expect(changes.has(bring({ spec: { user: 'alice', key: 'example-plain-key-of-ci', ttl: 5 } }))).toBe(
      false,
    );
  });

  it.each<[string, CredentialParts]>([
    ['a rotation', { annotations: { [annotations.rotate]: 'now' } }],
    ['a longer life', { spec: { ...spec, ttl: 0 } }],
    ['an end to being disabled', { spec: { ...spec, ttl: 60, disabled: false } }],
  ])('%s is known, whatever is changed afterwards', (_, parts) => {
    bring({ spec: { ...spec, ttl: 60, disabled: true } });
    gap = true;
    expect(changes.has(bring({ spec: { ...spec, ttl: 60, disabled: true }, ...parts }))).toBe(true);
    gap = false;
    const later = { spec: { user: 'alice', ttl: 30, disabled: true } };
    expect(changes.has(bring(later))).toBe(true);
    expect(changes.has(bring({ ...later, annotations: { [annotations.rotate]: 'again' } }))).toBe(true);
  });

  it('what has an end to being disabled while they are there is not meant', () => {
    bring({ spec: { ...spec, ttl: 60, disabled: true } });
    const record = bring({ spec: { ...spec, ttl: 0 }, annotations: { [annotations.rotate]: 'now' } });
    gap = true;
    expect(changes.has(bring({ spec: { ...spec, ttl: 0 } }))).toBe(false);
    expect(changes.has(record)).toBe(false);
  });

  it('what was confirmed is not meant when a new leader meets it for the first time in a gap', () => {
    gap = true;
    const record = liveRecord();
    store.upsert(record);
    expect(changes.has(record)).toBe(false);
    expect(changes.has(bring({ spec }))).toBe(true);
  });

  it('what is changed again afterwards is stamped', () => {
    gap = true;
    bring();
    gap = false;
    expect(changes.has(bring({ spec }))).toBe(false);
    expect(changes.has(bring())).toBe(false);
  });

  it('nothing is remembered of what is gone', () => {
    gap = true;
    bring();
    const record = bring({ annotations: { [annotations.rotate]: 'now' } });
    store.remove(record.key, record.uid);
    expect(changes.has(record)).toBe(false);
  });
});
