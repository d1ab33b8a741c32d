import { describe, expect, it } from 'vitest';
import type { KubectlResult } from '../../../lab/controlplane/kubectl.ts';
import { conditionOf, type Stored, secondsAfter, secretAt } from '../../../lab/operator/api.ts';
import { leastMs } from '../../../lab/operator/until.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { apiVersion, serviceAccounts, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { Issuer } from './issuer.ts';

const interval = 1_000;
const world = await operatorWorld({ env: { LATCHKEY_ACTIVITY_INTERVAL: `${interval}ms` } });
const { admin, plane } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin, { activityInterval: interval });
/** Seconds. Enough for what has to be done before the end, where kubectl takes its time. */
const ttl = 8;
const patiently = { timeoutMs: 90_000 };
const isDisabled = ({ spec }: Stored) => spec.disabled === true;

/** An end is marked in its own second: of some rounds, for a busy machine is late to write about it. */
async function expectMarkedInTime(round: () => Promise<number>): Promise<void> {
  expect(await leastMs(1_000, round, 3)).toBe(0);
}

describe.concurrent('the end of an access key', () => {
  it('is marked within a second: disabled, condition, event', async () => {
    const lateMs = async () => {
      const key = await admin.untilReady(await admin.createKey({ user: 'alice', ttl }));
      const end = endOf(key);
      expect(new Date(key.status.notAfter).getTime()).toBe(end);
      expect(await verifier.presented(key.spec.key)).toBe('live');

      const disabled = await admin.until(key, 'disabled', isDisabled, patiently);

      expect(Date.now()).toBeGreaterThanOrEqual(end);
      expect(await verifier.presented(key.spec.key)).not.toBe('live');
      const refused = await admin.untilRefused(key, reasons.expired);
      const { metadata, spec, status } = refused;
      expect(metadata.generation).toBe(disabled.metadata.generation);
      expect(spec.key).toBe(key.spec.key);
      expect(status).toMatchObject({ active: false, disabledByExpiry: metadata.generation, serial: 1 });
      expect(conditionOf(await admin.get(key), 'Stalled')?.reason).toBe(reasons.expired);
      const event = await admin.untilEvent(key, reasons.expired);
      expect(event.type).toBe('Warning');
      return 1_000 * secondsAfter(end, refused);
    };
    await expectMarkedInTime(lateMs);
  });

  it('refuses by the clock before anything was written about it', async () => {
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 600 }));
    const patched = await admin.patch(key, { spec: { ttl: 1 } });
    expect(patched.spec.ttl).toBe(1);
    await admin.until(key, 'its end', () => Date.now() >= endOf(key, 1));
    expect(await verifier.presented(key.spec.key)).not.toBe('live');
  });

  it('is taken back when the manifest gives it life again', async () => {
    const key = await admin.createKey({ user: 'alice', ttl });
    const ended = await admin.untilRefused(key, reasons.expired, patiently);
    expect(ended.spec.disabled).toBe(true);

    await admin.patch(key, { spec: { ttl: 3600 } });

    const { spec, status } = await admin.untilReady(key);
    expect(spec.disabled).toBe(false);
    expect(status).not.toHaveProperty('disabledByExpiry');
    expect(status).toMatchObject({ serial: 1, active: true, credentialHash: ended.status.credentialHash });
    expect(await verifier.presented(spec.key)).toBe('live');
    await admin.untilEvent(key, reasons.enabled);
  });

  it('is announced once when a fifth of the life is left', async () => {
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', ttl: 12 }));
    const soon = await admin.untilCondition(key, { type: 'ExpiringSoon', status: 'True' }, patiently);
    expect(endOf(key) - Date.now()).toBeLessThanOrEqual(2_400);
    expect(conditionOf(soon)?.status).toBe('True');
    expect(conditionOf(soon, 'ExpiringSoon')?.message).toContain(`ends at ${key.status.notAfter}`);
    const { status } = await admin.untilRefused(key, reasons.expired);
    expect(status.conditions.map(({ type }: { type: string }) => type).sort()).toEqual(['Ready', 'Stalled']);
    await admin.untilEvent(key, reasons.expired);
    const events = (await admin.eventsOf(key)).filter(({ reason }) => reason === reasons.expiringSoon);
    expect(events.map(({ type, series }) => [type, series?.count])).toEqual([['Warning', undefined]]);
  });
});

describe.concurrent('the end of a token', () => {
  it('comes with the end of its access key at the latest, and clears token and Secret', async () => {
    const key = await admin.createKey({ user: 'alice', ttl: 12 });
    const place = { namespace: 'default', name: world.name('token') };
    const accessKey = key.metadata.name;
    const shown = await admin.untilReady(await admin.createToken({ accessKey, ttl: 600 }));
    const hidden = await admin.untilReady(await admin.createToken({ accessKey, ttl: 600, secretRef: place }));
    const { token } = shown.status;
    const end = new Date(key.metadata.creationTimestamp).getTime() + 12_000;
    expect(new Date(shown.status.notAfter).getTime()).toBe(end);
    expect((await issuer.verify(token)).exp).toBe(end / 1000);

    for (const ended of [shown, hidden]) {
      const { status } = await admin.untilRefused(ended, reasons.expired, { timeoutMs: 90_000 });
      expect(Date.now()).toBeGreaterThanOrEqual(end);
      expect(status.token).toBeUndefined();
      expect(status.credentialHash).toBeUndefined();
      await admin.untilEvent(ended, reasons.expired);
    }
    await admin.untilGone(secretAt(place.namespace, place.name));
    await expect(issuer.verify(token)).rejects.toMatchObject({ code: 'ERR_JWT_EXPIRED' });
    expect(await verifier.presented(token)).toBe('Unknown');
    expect(await verifier.of(hidden)).not.toBe('live');
  });
});

describe.concurrent('a key that a person disabled', () => {
  it('stays disabled when its life is over and when it gets life again', async () => {
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', ttl }));
    await admin.patch(key, { spec: { disabled: true } });
    await admin.untilRefused(key, reasons.disabled);
    await admin.untilRefused(key, reasons.expired, patiently);
    await admin.patch(key, { spec: { ttl: 3600 } });
    const { spec, status } = await admin.untilRefused(key, reasons.disabled);
    expect(spec.disabled).toBe(true);
    expect(status).not.toHaveProperty('disabledByExpiry');
    expect(await verifier.presented(spec.key)).toBe('Disabled');
  });

  it('after Latchkey had disabled it, is not taken back either', async () => {
    const manifest = manifestOf({ ttl });
    const key = await applied(manifest, ['--server-side']);
    await admin.until(key, 'disabled', isDisabled, patiently);
    await applied({ ...manifest, spec: { ...manifest.spec, disabled: true, ttl: 3600 } }, ['--server-side']);
    const { spec } = await admin.untilRefused(key, reasons.disabled);
    expect(spec).toMatchObject({ disabled: true, ttl: 3600 });
  });

  it('works again when the person says so', async () => {
    const key = await admin.untilReady(await admin.createKey());
    await admin.patch(key, { spec: { disabled: true } });
    await admin.untilRefused(key, reasons.disabled);
    await admin.untilEvent(key, reasons.disabled);
    await admin.patch(key, { spec: { disabled: false } });
    const { status } = await admin.untilReady(key);
    expect(status).toMatchObject({ serial: 1, active: true });
  });
});

describe.concurrent.each([
  ['kubectl apply', []],
  ['kubectl apply --server-side', ['--server-side', '--field-manager=gitops']],
])('a key that %s declares', (_command, options) => {
  it('with "disabled: false" gets the end in its status only, and lives on with a new ttl', async () => {
    const manifest = manifestOf({ ttl, disabled: false });
    const key = await admin.untilReady(await applied(manifest, options));

    const ended = await admin.untilRefused(key, reasons.expired, patiently);

    expect(ended.spec.disabled).toBe(false);
    expect(ended.status).toMatchObject({ active: false });
    expect(ended.status).not.toHaveProperty('disabledByExpiry');
    expect(await verifier.presented(key.spec.key)).toBe('Expired');
    expect(await diff(manifest, options)).toMatchObject({ exitCode: 0, stdout: '' });
    await admin.untilEvent(key, reasons.expired);
    expect((await applied(manifest, options)).metadata.resourceVersion).toBe(ended.metadata.resourceVersion);

    await applied({ ...manifest, spec: { ...manifest.spec, ttl: 3600 } }, options);
    await admin.untilReady(key);
    expect(await verifier.presented(key.spec.key)).toBe('live');
  });

  it('without "disabled" is disabled, which is no difference to the manifest, and lives on with a new ttl', async () => {
    const manifest = manifestOf({ ttl });
    const key = await admin.untilReady(await applied(manifest, options));
    const ended = await admin.untilRefused(key, reasons.expired, patiently);
    expect(ended.spec.disabled).toBe(true);
    expect(await diff(manifest, options)).toMatchObject({ exitCode: 0, stdout: '' });
    expect((await applied(manifest, options)).metadata.resourceVersion).toBe(ended.metadata.resourceVersion);

    await applied({ ...manifest, spec: { ...manifest.spec, ttl: 3600 } }, options);
    const { spec, status } = await admin.untilReady(key);
    expect(spec.disabled).toBe(false);
    expect(status.serial).toBe(1);
  });
});

describe.concurrent('an idle end', () => {
  it('comes two intervals after the last recorded use and the ttl', async () => {
    await expectMarkedInTime(async () => {
      const key = await admin.untilReady(
        await admin.createKey({ user: 'alice', ttl, ttlAfterLastActivity: true }),
      );
      const used = Date.now() + 500;
      await recordActivity(key, new Date(used).toISOString());

      await admin.until(key, 'disabled', isDisabled, patiently);

      const end = used + ttl * 1_000 + 2 * interval;
      expect(Date.now()).toBeGreaterThanOrEqual(end);
      expect(await verifier.presented(key.spec.key)).not.toBe('live');
      const refused = await admin.untilRefused(key, reasons.expired);
      expect(new Date(refused.status.lastActivity).getTime()).toBe(used);
      await admin.untilEvent(key, reasons.expired);
      return 1_000 * secondsAfter(end, refused);
    });
  });

  it('moves with each use', async () => {
    const key = await admin.untilReady(
      await admin.createKey({ user: 'alice', ttl: 4, ttlAfterLastActivity: true }),
    );
    const firstEnd = endOf(key) + 2 * interval;
    for (let use = 1; use <= 3; use += 1) {
      const due = Date.now() + 2_000;
      await admin.until(key, 'time goes by', () => Date.now() >= due);
      await recordActivity(key, new Date().toISOString());
    }
    await admin.until(key, 'the end it would have had', () => Date.now() > firstEnd + 200);
    expect(await verifier.presented(key.spec.key)).toBe('live');
    const { spec, status } = await admin.untilReady(key);
    expect(spec).not.toHaveProperty('disabled');
    expect(status.active).toBe(true);
    await admin.untilRefused(key, reasons.expired, patiently);
  });

  it('counts from the creation of a key that was never used', async () => {
    await expectMarkedInTime(async () => {
      const key = await admin.createKey({ user: 'alice', ttl: 2, ttlAfterLastActivity: true });
      await admin.until(key, 'disabled', isDisabled, patiently);
      const end = endOf(key) + 2 * interval;
      expect(Date.now()).toBeGreaterThanOrEqual(end);
      return 1_000 * secondsAfter(end, await admin.untilRefused(key, reasons.expired));
    });
  });
});

interface KeyManifest {
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

function manifestOf(spec: object): KeyManifest & object {
  const metadata = { name: world.name('declared') };
  return { apiVersion, kind: 'OwnedAccessKey', metadata, spec: { user: 'alice', ...spec } } as KeyManifest;
}

async function applied(manifest: KeyManifest, options: readonly string[]): Promise<Stored> {
  const input = JSON.stringify(manifest);
  const { exitCode, stderr } = await plane.kubectl(['apply', ...options, '-f', '-'], { input });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return admin.track(await admin.get({ kind: 'OwnedAccessKey', metadata: manifest.metadata }));
}

async function diff(manifest: KeyManifest, options: readonly string[]): Promise<KubectlResult> {
  return await plane.kubectl(['diff', ...options, '-f', '-'], { input: JSON.stringify(manifest) });
}

/** As the gateway does. */
async function recordActivity({ metadata: { name } }: Stored, lastActivity: string): Promise<void> {
  const serviceAccount = { namespace: systemNamespace, name: serviceAccounts.activity };
  const gateway = admin.client.as({ serviceAccount });
  await gateway.mergePatch(
    ownedAccessKeys,
    { name },
    { status: { lastActivity } },
    { subresource: 'status' },
  );
}

function endOf(key: Stored, seconds: number = key.spec.ttl): number {
  return new Date(key.metadata.creationTimestamp).getTime() + seconds * 1000;
}
