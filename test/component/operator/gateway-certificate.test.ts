import { X509Certificate } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { silentLogger } from '../../../src/logger.ts';
import { GatewayCertificateController } from '../../../src/operator/gateway-certificate/controller.ts';
import { GatewayAuthority } from '../../../src/operator/gateway-certificate/gateway-authority.ts';
import { lives } from '../../../src/operator/gateway-certificate/plan-certificate.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { type Fate, MemoryApi, type StoredObject } from './memory-api.ts';

const [servingKey, authorityKey] = [
  'latchkey-system/latchkey-gateway-tls',
  'latchkey-system/latchkey-gateway-ca',
];

let clock: FakeClock;
let api: MemoryApi;
let fates: Fate[];
beforeEach(() => {
  clock = new FakeClock(Date.UTC(2026, 10, 22));
  fates = [];
  api = new MemoryApi(
    () => clock.now(),
    () => fates.shift() ?? 'works',
  );
});

/** One replica of the operator, how often it said that its authority has changed, and the end that it measured last. */
function operator(baseURL = 'https://latchkey.example.com') {
  let changes = 0;
  let end: number | undefined;
  const published = new GatewayAuthority(() => {
    changes += 1;
  });
  const onEnd = (measured: number | undefined) => {
    end = measured;
  };
  const options = {
    client: api.client,
    published,
    baseURL,
    now: () => clock.now(),
    log: silentLogger,
    onEnd,
  };
  const controller = new GatewayCertificateController(options);
  return { reconcile: () => controller.reconcile(), published, changes: () => changes, end: () => end };
}

const secret = (key: string): StoredObject => {
  const found = api.find('secrets', key);
  if (found === undefined) throw new Error(`there is no Secret ${key}`);
  return found;
};
const entry = (key: string, name: string): string =>
  Buffer.from(secret(key).data?.[name] ?? '', 'base64').toString();
const certificateIn = (key: string) => new X509Certificate(entry(key, 'tls.crt'));
const put = (key: string, entries: Record<string, string>) => {
  const data = Object.entries(entries).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
  api.patch('secrets', key, { data: Object.fromEntries(data) }, { fieldManager: 'somebody' });
};

/** Whether a client that trusts these authorities alone accepts the certificate now. */
function isVouchedFor(certificate: X509Certificate, bundle: string): boolean {
  const all = bundle.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----\n/g) ?? [];
  return all
    .map((pem) => new X509Certificate(pem))
    .some(
      (authority) => certificate.verify(authority.publicKey) && authority.validToDate.getTime() > clock.now(),
    );
}

describe('the certificate of the gateway', () => {
  it('is made once, with its authority, and named to kubeconfigs', async () => {
    const { reconcile, published, changes, end } = operator();
    expect(published.known).toBeUndefined();
    expect(await reconcile()).toEqual({ requeueAfterMs: lives.serving - lives.renewBefore });
    const ca = entry(authorityKey, 'tls.crt');
    expect(published.known).toEqual({ ca, earlierCAs: [] });
    expect(end()).toBe(clock.now() + lives.serving);
    expect(entry(servingKey, 'ca.crt')).toBe(ca);
    expect(certificateIn(servingKey).checkIssued(new X509Certificate(ca))).toBe(true);
    expect(secret(servingKey)).toMatchObject({
      type: 'kubernetes.io/tls',
      metadata: { labels: { 'management.platform.sh/purpose': 'gateway-certificate' } },
    });
    await reconcile();
    expect([api.writes, changes()]).toEqual([2, 1]);
  });

  it('has its authority’s key nowhere but in the Secret of the authority', async () => {
    await operator().reconcile();
    expect(Object.keys(secret(servingKey).data ?? {}).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(entry(servingKey, 'tls.key')).not.toBe(entry(authorityKey, 'tls.key'));
    expect(entry(servingKey, 'ca.crt')).not.toContain('PRIVATE');
  });

  it('is made once by two operators that start at the same moment', async () => {
    const replicas = [operator(), operator()];
    const first = await Promise.allSettled(replicas.map(({ reconcile }) => reconcile()));
    expect(first.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const made = api.writes;
    await Promise.all(replicas.map(({ reconcile }) => reconcile()));
    expect(api.writes).toBe(made);
    expect(api.all('secrets')).toHaveLength(2);
    const ca = entry(authorityKey, 'tls.crt');
    expect(replicas.map(({ published }) => published.known?.ca)).toEqual([ca, ca]);
  });

  it.each<Fate>(['lost', 'unanswered'])('is made when any write before it is %s', async (fate) => {
    for (const nth of [0, 1]) {
      for (const { metadata } of api.all('secrets'))
        api.delete('secrets', `latchkey-system/${metadata.name}`);
      const { reconcile, published } = operator();
      fates = [...Array<Fate>(nth).fill('works'), fate];
      await expect(reconcile()).rejects.toThrow();
      expect(published.known).toBeUndefined();
      await reconcile();
      expect(certificateIn(servingKey).verify(certificateIn(authorityKey).publicKey)).toBe(true);
    }
  });

  it('is renewed a month before its end, under the same authority, and again', async () => {
    const { reconcile, changes } = operator();
    await reconcile();
    const authority = entry(authorityKey, 'tls.crt');
    for (let round = 0; round < 3; round++) {
      const before = certificateIn(servingKey);
      clock.advance(lives.serving - lives.renewBefore - 1);
      expect(await reconcile()).toEqual({ requeueAfterMs: 1 });
      clock.advance(1);
      await reconcile();
      const after = certificateIn(servingKey);
      expect(after.validToDate.getTime()).toBe(clock.now() + lives.serving);
      expect(after.publicKey.equals(before.publicKey)).toBe(false);
    }
    expect(entry(authorityKey, 'tls.crt')).toBe(authority);
    expect(changes()).toBe(1);
  });

  it('gets another authority in time, and every kubeconfig that lives two years at most is good throughout', async () => {
    const { reconcile, published } = operator();
    const first = await reconcile().then(() => entry(authorityKey, 'tls.crt'));
    const issued: { readonly ca: string; readonly at: number }[] = [];
    const end = clock.now() + lives.authority + lives.announcement;
    while (clock.now() < end) {
      const { requeueAfterMs = 0 } = (await reconcile()) ?? {};
      const { ca = '', earlierCAs } = published.known ?? { earlierCAs: [] };
      issued.push({ ca, at: clock.now() });
      for (const kubeConfig of issued.filter(({ at }) => clock.now() <= at + lives.announcement)) {
        expect([ca, ...earlierCAs]).toContain(kubeConfig.ca);
        expect(isVouchedFor(certificateIn(servingKey), kubeConfig.ca)).toBe(true);
      }
      clock.advance(requeueAfterMs);
    }
    expect(entry(authorityKey, 'tls.crt')).not.toBe(first);
    expect(entry(authorityKey, 'former.crt')).toBe(first);
    expect(Object.keys(secret(authorityKey).data ?? {}).toSorted()).toEqual([
      'former.crt',
      'tls.crt',
      'tls.key',
    ]);
    expect(entry(servingKey, 'ca.crt')).toBe(entry(authorityKey, 'tls.crt'));
  });

  it('and its authority never outlive what signed them', async () => {
    const { reconcile } = operator();
    const end = clock.now() + 2 * lives.authority;
    while (clock.now() < end) {
      const { requeueAfterMs = 0 } = (await reconcile()) ?? {};
      const { validToDate } = certificateIn(authorityKey);
      expect(certificateIn(servingKey).validToDate.getTime()).toBeLessThanOrEqual(validToDate.getTime());
      expect(certificateIn(servingKey).validToDate.getTime()).toBeGreaterThan(clock.now());
      clock.advance(requeueAfterMs);
    }
  });

  it('gets another authority when the Secret of the authority is deleted', async () => {
    const { reconcile, published } = operator();
    await reconcile();
    const before = published.known;
    api.delete('secrets', authorityKey);
    await reconcile();
    expect(published.known).not.toEqual(before);
    expect(certificateIn(servingKey).verify(certificateIn(authorityKey).publicKey)).toBe(true);
  });

  it.each([
    ['the certificate', servingKey, { 'tls.crt': 'garbage' }],
    ['its key', servingKey, { 'tls.key': 'garbage' }],
    ['the authority beside it', servingKey, { 'ca.crt': '' }],
    ['everything', servingKey, { 'tls.crt': '', 'tls.key': '', 'ca.crt': '' }],
    ['the authority', authorityKey, { 'tls.crt': 'garbage' }],
    ['the key of the authority', authorityKey, { 'tls.key': '-----BEGIN PRIVATE KEY-----' }],
  ])('is whole again after %s was damaged', async (_, key, entries) => {
    const { reconcile, published } = operator();
    await reconcile();
    put(key, entries);
    await reconcile();
    const ca = entry(authorityKey, 'tls.crt');
    expect(certificateIn(servingKey).verify(new X509Certificate(ca).publicKey)).toBe(true);
    expect([entry(servingKey, 'ca.crt'), published.known?.ca]).toEqual([ca, ca]);
  });

  it('follows the base URL', async () => {
    await operator().reconcile();
    await operator('https://keys.example.org').reconcile();
    expect(certificateIn(servingKey).checkHost('keys.example.org')).toBe('keys.example.org');
    expect(certificateIn(servingKey).checkHost('latchkey.example.com')).toBeUndefined();
  });

  it('of the site is never touched, and kubeconfigs name no authority', async () => {
    const { certificate, key } = createServer(createAuthority('site'), ['latchkey.example.com']);
    const data = { 'tls.crt': certificate, 'tls.key': key };
    api.create('secrets', {
      type: 'kubernetes.io/tls',
      metadata: { namespace: 'latchkey-system', name: 'latchkey-gateway-tls' },
    } as unknown as StoredObject);
    put(servingKey, data);
    const { reconcile, published, end } = operator();
    const before = secret(servingKey);
    expect(await reconcile()).toBeUndefined();
    expect(secret(servingKey)).toEqual(before);
    expect(api.find('secrets', authorityKey)).toBeUndefined();
    expect(published.known).toEqual({ earlierCAs: [] });
    expect(end()).toBe(new X509Certificate(certificate).validToDate.getTime());
  });

  it('is not made with an authority of someone else, and what was made stays as it is', async () => {
    const { reconcile, published } = operator();
    await reconcile();
    const { certificate, key } = createServer(createAuthority('site'), ['latchkey.example.com']);
    api.delete('secrets', authorityKey);
    api.create('secrets', {
      type: 'kubernetes.io/tls',
      metadata: { namespace: 'latchkey-system', name: 'latchkey-gateway-ca' },
    } as unknown as StoredObject);
    put(authorityKey, { 'tls.crt': certificate, 'tls.key': key });
    const [before, trusted] = [secret(servingKey), published.known];
    await expect(reconcile()).rejects.toMatchObject({ code: 'ERR_GATEWAY_AUTHORITY' });
    expect([entry(authorityKey, 'tls.crt'), secret(servingKey), published.known]).toEqual([
      certificate,
      before,
      trusted,
    ]);
  });

  it('is left to the site that writes its own over ours, label and all', async () => {
    const { reconcile, published, changes } = operator();
    await reconcile();
    const { certificate, key } = createServer(createAuthority('site'), ['latchkey.example.com']);
    put(servingKey, { 'tls.crt': certificate, 'tls.key': key });
    await reconcile();
    expect(entry(servingKey, 'tls.crt')).toBe(certificate);
    expect(published.known).toEqual({ earlierCAs: [] });
    api.delete('secrets', servingKey);
    await reconcile();
    expect(published.known?.ca).toBe(entry(authorityKey, 'tls.crt'));
    expect(changes()).toBe(3);
  });
});
