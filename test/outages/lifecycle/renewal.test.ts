import { beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, entryOf, type Stored, secondsAfter, secretAt } from '../../../lab/operator/api.ts';
import { leastMs, timeUntil, until } from '../../../lab/operator/until.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  Holder,
  Project,
  readingOf,
  signedLifeOf,
  tracesOf,
} from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { Issuer } from '../../e2e/lifecycle/issuer.ts';

/** Long enough for a busy machine to find the predecessor at work. */
const overlapMs = 10_000;
/** The longest life of a certificate of this signer, whatever is asked for. */
const signerSeconds = 40;
const [world, cluster] = await Promise.all([
  operatorWorld({ env: { ...targetSettings, LATCHKEY_ROTATION_OVERLAP: `${overlapMs / 1000}s` } }),
  virtualCluster({ extraControllerManagerArgs: [`--cluster-signing-duration=${signerSeconds}s`] }),
]);
const { admin } = world;
const issuer = new Issuer(admin);
const verifier = new Verifier(admin);
let project: Project;
let accessKey: string;

beforeAll(async () => {
  project = await Project.ready(world, cluster);
  const key = await admin.createKey({ user: 'alice', allowedNamespaces: [project.namespace] });
  accessKey = (await admin.untilReady(key)).metadata.name;
});

const serial =
  (wanted: number) =>
  ({ status }: Stored) =>
    status.serial === wanted && status.credentialHash;

/** All of them wait for ends, each of its own objects, so they wait at the same time. */
describe.concurrent('a signer that gives less than is asked for', () => {
  it.each([0, 3_600, 2_000_000_000])(
    'decides the end of a kubeconfig with certificateTTL %s',
    async (certificateTTL) => {
      const object = await project.issued({ certificateTTL });
      const reading = readingOf(object.status.kubeConfig);
      expect(signedLifeOf(reading)).toBe(signerSeconds);
      expect(Date.parse(object.status.notAfter)).toBe(reading.certificate?.validToDate.getTime());
    },
  );

  it('cannot be made to give more by losing the Secret, and the end is acted on', async () => {
    const secretRef = { name: world.name('out') };
    const object = await project.issued({ certificateTTL: 3_600, secretRef, accessKey, renewBefore: 0 });
    const place = secretAt(project.namespace, secretRef.name);
    const first = new Holder(entryOf(await admin.get(place), 'config'), cluster);
    await admin.delete(place);
    const next = await admin.until(object, 'a replacement', serial(2));
    expect(next.status.notAfter).toBe(object.status.notAfter);
    expect(await first.refusals(200)).toEqual(new Set([403]));
    const second = new Holder(entryOf(await admin.get(place), 'config'), cluster);
    await second.untilAllowed();
    const ended = await admin.untilRefused(object, 'Expired', { timeoutMs: 120_000 });
    expect(secondsAfter(Date.parse(object.status.notAfter), ended)).toBeLessThan(10);
    // 401 from the second on in which the certificate itself has ended.
    await until('it is refused', async () => [401, 403].includes(await second.call()));
    expect(await tracesOf(object, cluster)).toEqual([]);
    await admin.untilGone(place);
    for (const holder of [first, second]) await holder.close();
  });
});

describe.concurrent('a renewal that becomes due after "use" was taken away', () => {
  it('leaves the kubeconfig as it is until its end, and says why there is no other', async () => {
    const other = await Project.ready(world, cluster);
    const parent = await admin.createKey({ user: 'alice', allowedNamespaces: [other.namespace] });
    const { name } = (await admin.untilReady(parent)).metadata;
    const object = await other.issued({
      clientCert: false,
      accessKey: name,
      certificateTTL: 60,
      renewBefore: 59,
    });
    await other.grant([]);
    const reconciling = { type: 'Reconciling', status: 'True', reason: 'UseNotAllowed' } as const;
    const kept = await admin.untilCondition(object, reconciling, { timeoutMs: 90_000 });
    expect(conditionOf(kept)?.status).toBe('True');
    expect(kept.status).toMatchObject({ serial: 1, kubeConfig: object.status.kubeConfig });
    const ended = await admin.untilCondition(object, { status: 'False' }, { timeoutMs: 90_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(object.status.notAfter));
    expect(ended.status).not.toHaveProperty('kubeConfig');
  });
});

describe.concurrent('a planned renewal', () => {
  it('leaves the predecessor bound for the overlap, then takes it away', async () => {
    const secretRef = { name: world.name('out') };
    const object = await project.issued({ certificateTTL: 3_600, accessKey, renewBefore: 600, secretRef });
    const first = new Holder(await project.documentIn(secretRef.name), cluster);
    await first.untilAllowed();
    const next = await admin.until(object, 'the successor', serial(2), { timeoutMs: 90_000 });
    await admin.untilEvent(object, 'Renewed');
    expect(Date.parse(next.status.notAfter)).toBeGreaterThan(Date.parse(object.status.notAfter));
    expect(next.status).toMatchObject({ boundSerials: [1, 2], previous: { serial: 1 } });
    const second = new Holder(await project.documentIn(secretRef.name), cluster);
    await second.untilAllowed();
    expect(await first.call()).toBe(200);
    const answers = new Set<number>();
    const refused = async () => answers.add(await first.call()).has(403);
    const options = { timeoutMs: 90_000, seen: () => [...answers] };
    const start = Date.now();
    const lastAccepted = start + (await timeUntil('the predecessor is refused', refused, options));
    const { expirationTimestamp } = (next.status as { previous: { expirationTimestamp: string } }).previous;
    // Status has whole seconds.
    expect(Date.now() - Date.parse(expirationTimestamp)).toBeGreaterThan(-1_000);
    expect(lastAccepted - Date.parse(expirationTimestamp)).toBeLessThan(10_000);
    expect(await first.refusals()).toEqual(new Set([403]));
    expect(await second.call()).toBe(200);
    const { status } = await admin.get(object);
    expect(status).not.toHaveProperty('previous');
    expect(status.boundSerials).toEqual([2]);
    expect(await tracesOf(object, cluster)).toEqual([
      'ClusterRoleBinding latchkey-UID-2',
      'CertificateSigningRequest latchkey-UID-2',
    ]);
    for (const holder of [first, second]) await holder.close();
  });

  it('of a token in a kubeconfig gives another document', async () => {
    const object = await project.issued({
      clientCert: false,
      certificateTTL: 60,
      accessKey,
      renewBefore: 59,
    });
    const next = await admin.until(object, 'the successor', serial(2), { timeoutMs: 90_000 });
    const tokens = [object, next].map(({ status }) => readingOf(status.kubeConfig).token);
    expect(new Set(tokens).size).toBe(2);
    expect(next.status.previous).toMatchObject({ serial: 1, credentialHash: object.status.credentialHash });
  });
});

describe.concurrent('a token of 60 seconds', () => {
  it('is renewed at half of its life at the earliest, with overlap', async () => {
    const renewed = await admin.createToken({ accessKey, ttl: 60, renewBefore: 59 });
    const first = await admin.untilReady(renewed);
    const issuedAt = new Date(first.status.issuedAt).getTime();
    const isSecond = ({ status }: Stored) => status.serial === 2;
    const second = await admin.until(renewed, 'a successor', isSecond, { timeoutMs: 120_000 });
    const renewedAt = new Date(second.status.issuedAt).getTime();
    expect(renewedAt - issuedAt).toBeGreaterThanOrEqual(29_000);
    expect(renewedAt - issuedAt).toBeLessThan(45_000);
    expect(await verifier.presented(first.status.token)).toBe('live');
    expect(await verifier.presented(second.status.token)).toBe('live');
    const { iat = 0, exp } = await issuer.verify(second.status.token);
    expect(exp).toBe(iat + 60);
    await admin.until(renewed, 'no predecessor', ({ status }) => status.previous === undefined);
    expect(await verifier.presented(first.status.token)).toBe('Unknown');
  });

  it('without renewal warns once and ends', async () => {
    const lateMs = async () => {
      const unrenewed = await admin.createToken({ accessKey, ttl: 60 });
      const { token, notAfter } = (await admin.untilReady(unrenewed)).status;
      const end = new Date(notAfter).getTime();
      const soon = { type: 'ExpiringSoon', status: 'True' } as const;
      await admin.untilCondition(unrenewed, soon, { timeoutMs: 120_000 });
      expect(end - Date.now()).toBeLessThanOrEqual(12_000);
      const refused = await admin.untilRefused(unrenewed, reasons.expired, { timeoutMs: 90_000 });
      expect(Date.now()).toBeGreaterThanOrEqual(end);
      expect(await verifier.presented(token)).toBe('Unknown');
      expect((await admin.get(unrenewed)).status.token).toBeUndefined();
      await admin.untilEvent(unrenewed, reasons.expired);
      const warnings = (await admin.eventsOf(unrenewed)).filter(
        ({ reason }) => reason === reasons.expiringSoon,
      );
      expect(warnings.map(({ type, series }) => [type, series?.count])).toEqual([['Warning', undefined]]);
      return 1_000 * secondsAfter(end, refused);
    };
    // A round is a minute, so there are few: another one only where a busy machine was late to write about the end.
    expect(await leastMs(1_000, lateMs, 3)).toBe(0);
  });
});
