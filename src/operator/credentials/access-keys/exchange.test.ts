import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  recordOf,
} from '../../../../test/builders/credential-object.ts';
import { annotations, finalizers, labels } from '../../../api/names.ts';
import { checkClaims } from '../../../credentials/exchange/check-claims.ts';
import { computeFingerprints } from '../../../credentials/fingerprint.ts';
import { isLive } from '../../../credentials/liveness.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { exchangeHoldOf, Finalizer } from '../finalizer.ts';
import { planChildren } from './children.ts';
import { findCredential } from './credential.ts';

const exchange = { serviceAccounts: [{ namespace: 'ci', name: 'worker' }] };
const keyOf = (parts: CredentialParts): CredentialRecord => recordOf(credentialObject(parts));
const found = (record: CredentialRecord) => findCredential({ record } as never);

describe('a key that takes tokens', () => {
  it('has no key of its own where spec says none, and lives', () => {
    const record = keyOf({ spec: { user: 'alice', exchange } });
    const credential = found(record);
    expect(credential).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      serial: 1,
      source: 'Exchange',
    });
    const live = recordOf(confirmed(credentialObject({ spec: { user: 'alice', exchange } })));
    expect(isLive(live, () => undefined, created + 1, { activityInterval: 0 })).toMatchObject({ live: true });
  });

  it('keeps what it has once it is confirmed, and another key has another hash', () => {
    const { hash } = found(keyOf({ spec: { user: 'alice', exchange } })) as { hash: string };
    const status = { credentialHash: hash, serial: 4 };
    expect(found(keyOf({ spec: { user: 'alice', exchange }, status }))).toMatchObject({ hash, serial: 4 });
    const other = found(keyOf({ name: 'other', spec: { user: 'alice', exchange } }));
    expect(other).not.toMatchObject({ hash });
  });

  it.each([
    ['a key', { key: `sha256:${'a'.repeat(64)}` }, { source: 'Hash' }],
    ['a Secret', { secretRef: { namespace: 'ci', name: 'out' } }, { step: 'writeSecret' }],
  ])('may have %s as well', (_, more, expected) => {
    expect(found(keyOf({ spec: { user: 'alice', exchange, ...more } }))).toMatchObject(expected);
  });

  it('gets a key when it takes no tokens any more', () => {
    expect(found(keyOf({ spec: { user: 'alice' } }))).toEqual({ step: 'generateIntoSpec' });
  });

  it('is another one to confirm with every change of what it takes, and as before without', () => {
    const [without, empty, some, more] = [undefined, {}, exchange, { ...exchange, maxTTL: 60 }].map(
      (each) => computeFingerprints({ user: 'alice', ...(each && { exchange: each }) })[0],
    );
    expect(new Set([without, empty, some, more]).size).toBe(4);
    expect(computeFingerprints({ user: 'alice', exchange: null })[0]).toBe(without);
  });
});

describe('a key that came of a token', () => {
  const until = created + 600_000;
  const deletionTimestamp = new Date(created + 1_000).toISOString();
  const made = (more: object = {}, exchangedUntil = new Date(until).toISOString()) =>
    keyOf({
      annotations: { [annotations.exchangedUntil]: exchangedUntil },
      metadata: { finalizers: [finalizers.OwnedAccessKey], labels: { [labels.ephemeral]: 'true' }, ...more },
    });

  it('stays, deleted as it is, until the token is of no use', async () => {
    let now = created + 2_000;
    const removed: string[] = [];
    const finalizer = new Finalizer({
      stores: { secretsOf: () => [] },
      writer: {
        writeStatus: async (record) => record,
        removeFinalizer: async ({ uid }) => void removed.push(uid),
      },
      secrets: { deleteAll: async () => undefined },
      events: { publish: () => undefined },
      onReleased: () => undefined,
      now: () => now,
      workingSince: () => 0,
      limitMs: 60_000,
    });
    const record = made({ deletionTimestamp });
    expect(await finalizer.finalize(record)).toEqual({ requeueAfterMs: 598_000 });
    now = until - 1;
    expect(await finalizer.finalize(record)).toEqual({ requeueAfterMs: 1 });
    expect(removed).toEqual([]);
    now = until;
    expect(await finalizer.finalize(record)).toBeUndefined();
    expect(removed).toEqual([record.uid]);
  });

  it.each([
    ['that is unreadable', 'soon', 0],
    ['that is years away', '2099-01-01T00:00:00Z', created + 86_700_000],
  ])('with a time %s does not stay for much longer than a day', (_, text, end) => {
    expect(exchangeHoldOf(made({}, text))).toBe(end);
  });

  it('stays until its token of a day is of no use, by the clock of an issuer that is ahead', () => {
    const iat = created / 1_000 + 29;
    const claims = { aud: 'a', sub: 'b', iat, exp: iat + 86_400 };
    const accepted = checkClaims(claims, { audience: 'a', now: created });
    if ('problem' in accepted) throw new Error(accepted.problem);
    const { usableUntil } = accepted;
    expect(exchangeHoldOf(made({}, new Date(usableUntil).toISOString()))).toBe(usableUntil);
  });

  it('does not hold up the key above it', () => {
    const parent = keyOf({ name: 'parent' });
    const child = (more: object) => ({
      ...made(more),
      accessKey: 'parent',
      status: { serial: 1, accessKeyUID: parent.uid },
    });
    expect(planChildren(parent, [child({ deletionTimestamp })])).toEqual({ toDelete: [], waiting: [] });
    const present = child({});
    expect(planChildren(parent, [present])).toEqual({ toDelete: [present], waiting: [present] });
  });
});
