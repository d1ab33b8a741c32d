import { beforeEach, describe, expect, it } from 'vitest';
import { labels } from '../../../src/api/names.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import { timedOut } from '../../../src/kube/kube-error.ts';
import { silentLogger } from '../../../src/logger.ts';
import { CertificateRevoker } from '../../../src/operator/certificates/certificate-revoker.ts';
import { RevocationController } from '../../../src/operator/certificates/revocation-controller.ts';
import {
  caFingerprint,
  type RevocationRecord,
  revocationIndexes,
} from '../../../src/operator/certificates/revocation-records.ts';
import type { TargetClients } from '../../../src/platform/targets/target-clients.ts';
import { toUntrustedServerError } from '../../../src/platform/targets/untrusted/untrusted-server-error.ts';
import { HastyClock } from './kubeconfig-simulation.ts';
import { MemoryTarget, refusal } from './memory-target.ts';

const bindings = 'clusterrolebindings';
const requests = 'certificatesigningrequests';
const denials = ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'];
const uidOf = (index: number) => `aaaa-${index}`;

let clock: HastyClock;
let target: MemoryTarget;
let store: Store<RevocationRecord>;
let controller: RevocationController;
/** The requests to the target, as `GET clusterrolebindings` and so on. */
let asked: string[];
/** How often the target was opened. */
let opened: number;
/** How often the object of a record was looked up. */
let lookedUp: number;
/** Records that are completed in the API server; the watch brings it with `deliver`. */
let completed: string[];

beforeEach(() => {
  clock = new HastyClock(Date.UTC(2026, 10, 21, 10));
  target = new MemoryTarget(clock, () => 'works');
  target.onRequest = ({ method, path }) => void asked.push(`${method} ${path.split('/').at(-1)}`);
  store = new Store<RevocationRecord>(revocationIndexes);
  [asked, opened, lookedUp, completed] = [[], 0, 0, []];
  const config = { server: new URL('https://10.0.0.1'), ca: 'the authority' };
  const clients = {
    open: async () => {
      opened++;
      return { target: { client: target.client, config } };
    },
    remembered: () => undefined,
    forget: () => undefined,
  } as unknown as TargetClients;
  controller = new RevocationController({
    ...{ store, clients, clock, random: () => 0.5, log: silentLogger },
    revoker: new CertificateRevoker(clients, clock),
    findOwner: () => {
      lookedUp++;
      return undefined;
    },
    records: { complete: async ({ key }) => void completed.push(key) },
    events: { publish: () => undefined },
    pending: { inc: () => undefined, dec: () => undefined },
  });
});

/** Certificates of objects that are gone, each with its binding and its request in the target. */
function record(count: number, change: (index: number) => Partial<RevocationRecord> = () => ({})): void {
  for (let index = 0; index < count; index++) {
    const uid = uidOf(index);
    const metadata = { name: `latchkey-${uid}-1`, labels: { [labels.ownerUID]: uid } };
    const subjects = [{ kind: 'User', name: certificateSubject(uid, 1) }];
    target.api.create(bindings, { metadata, subjects } as never);
    target.api.create(requests, { metadata } as never);
    store.upsert({
      ...{ key: `latchkey-system/r${index}`, name: `r${index}`, uid: `r${index}`, resourceVersion: '1' },
      ...{ ownerUID: uid, serials: [1], notAfter: Number.POSITIVE_INFINITY, readable: true },
      instance: { namespace: 'default', name: 'shop', uid: 'i' },
      secret: { namespace: 'default', name: 'vc-shop', key: 'config' },
      caFingerprint: fingerprint,
      ...change(index),
    });
  }
}

/** More than are kept of a list, besides the first. */
function requestMore(uid: string): void {
  for (let serial = 2; serial <= 12_000; serial++) {
    const metadata = { name: `latchkey-${uid}-${serial}`, labels: { [labels.ownerUID]: uid } };
    target.api.create(requests, { metadata } as never);
  }
}

const fingerprint = caFingerprint({ ca: 'the authority' });

const reconcile = (index: number) => controller.reconcile(`latchkey-system/r${index}`);
const action = { verb: 'GET', path: '' };
const silence = toUntrustedServerError(action, timedOut(action, 5_000)) as Error;
const keysOf = (...indexes: number[]) => indexes.map((index) => `latchkey-system/r${index}`);
const countOf = (what: string) => asked.filter((one) => one === what).length;

describe('what is to be revoked in one virtual cluster', () => {
  it('goes in one pass, which searches all bindings once', async () => {
    record(1_000);
    expect(await reconcile(0)).toBeUndefined();
    expect([target.names(bindings), target.names(requests)]).toEqual([[], []]);
    expect([opened, countOf(`GET ${bindings}`), countOf('GET rolebindings')]).toEqual([1, 1, 1]);
    expect(completed).toHaveLength(1_000);
    // For each the deletion of its binding and of its request; besides them the searches.
    expect(asked.length).toBeLessThanOrEqual(2 * 1_000 + 5);
  });

  it('is not done again when the watch is late', async () => {
    record(3);
    for (const index of [0, 1, 2]) await reconcile(index);
    expect([opened, completed.toSorted()]).toEqual([1, keysOf(0, 1, 2)]);
  });

  it('goes by itself where it is of another instance, another authority or another Secret, or has time', async () => {
    const secret = { namespace: 'default', name: 'other', key: 'config' };
    const instance = { namespace: 'default', name: 'shop', uid: 'other' };
    const changes = [{}, { secret }, { instance }, { caFingerprint: 'other' }, { readable: false }, {}];
    record(6, (index) => changes[index] ?? {});
    await reconcile(0);
    expect(completed.toSorted()).toEqual(keysOf(0, 5));
  });

  it('leaves to itself what someone binds again, and finishes the rest', async () => {
    record(4);
    const subjects = [{ kind: 'User', name: certificateSubject(uidOf(2), 1) }];
    target.api.create(bindings, { metadata: { name: 'again' }, subjects } as never);
    await reconcile(0);
    expect([completed.toSorted(), target.names(bindings)]).toEqual([keysOf(0, 1, 3), ['again']]);
    await reconcile(2);
    expect([completed.toSorted(), target.names(bindings)]).toEqual([keysOf(0, 1, 2, 3), []]);
  });

  it('ends what a process denied that died since', async () => {
    record(2);
    const metadata = { name: `latchkey-${uidOf(1)}`, labels: { [labels.ownerUID]: uidOf(1) } };
    for (const plural of denials) target.api.create(plural, { metadata } as never);
    await reconcile(0);
    expect([completed.toSorted(), denials.flatMap((plural) => target.names(plural))]).toEqual([
      keysOf(0, 1),
      [],
    ]);
  });

  it('takes what it does not know of its objects, too: requests that were never recorded', async () => {
    record(2);
    const metadata = { name: `latchkey-${uidOf(1)}-7`, labels: { [labels.ownerUID]: uidOf(1) } };
    target.api.create(requests, { metadata } as never);
    await reconcile(0);
    expect(target.names(requests)).toEqual([]);
  });

  it('leaves to itself what has more requests than are kept of a list, which go all the same', async () => {
    record(3);
    requestMore(uidOf(1));
    await reconcile(0);
    expect(completed.toSorted()).toEqual(keysOf(0, 2));
    expect(target.names(requests)).toHaveLength(1_999);
    await reconcile(1);
    expect([completed.toSorted(), target.names(requests)]).toEqual([keysOf(0, 1, 2), []]);
  });

  it('is not done by itself while a list had more requests than are kept of it', async () => {
    record(1);
    requestMore(uidOf(0));
    expect(await reconcile(0)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect([completed, target.names(requests).length]).toEqual([[], 1_999]);
    clock.advance(2_000);
    expect(await reconcile(0)).toBeUndefined();
    expect([completed, target.names(requests)]).toEqual([keysOf(0), []]);
  });

  it('leaves to itself what the target refuses, and tries it again later', async () => {
    record(4);
    const { onRequest } = target;
    target.onRequest = (request) => {
      onRequest(request);
      const isKept = request.method === 'DELETE' && request.path.endsWith(`${uidOf(0)}-1`);
      if (isKept) throw toUntrustedServerError(action, refusal(403, 'Forbidden'));
    };
    expect(await reconcile(0)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect(completed.toSorted()).toEqual(keysOf(1, 2, 3));
  });

  it('waits all together when the target does not answer, with one try for all', async () => {
    record(50);
    target.failure = silence;
    for (let index = 0; index < 50; index++)
      expect(await reconcile(index)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect(opened).toBe(1);
    clock.advance(2_000);
    for (let index = 0; index < 50; index++)
      expect(await reconcile(index)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect(opened).toBe(2);
    target.failure = undefined;
    clock.advance(4_000);
    await reconcile(7);
    expect([opened, completed.length]).toEqual([3, 50]);
  });

  it('goes one by one when the target stopped to answer amid a pass, so that none of it holds up the rest', async () => {
    record(50);
    const { onRequest } = target;
    target.onRequest = (request) => {
      onRequest(request);
      if (request.method === 'DELETE' && request.path.endsWith(`${uidOf(20)}-1`)) throw silence;
    };
    for (let index = 0; index < 50; index++)
      expect(await reconcile(index)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect([opened, completed]).toEqual([1, []]);
    clock.advance(2_000);
    for (let index = 0; index < 50; index++) await reconcile(index);
    expect(opened).toBe(51);
    expect(completed).toHaveLength(49);
    expect(completed).not.toContain('latchkey-system/r20');
  });

  it('is held up by none of its records that has a binding in force, also where two are of one object', async () => {
    record(3, (index) => (index === 2 ? { ownerUID: uidOf(1), serials: [2] } : {}));
    const subjects = [{ kind: 'User', name: certificateSubject(uidOf(1), 1) }];
    target.api.create(bindings, { metadata: { name: 'again' }, subjects } as never);
    await reconcile(0);
    expect(completed).toEqual(keysOf(0));
    expect(target.names(bindings)).toContain('again');
  });

  it('goes in one pass again when the target is back', async () => {
    record(50);
    target.failure = silence;
    await reconcile(0);
    target.failure = undefined;
    for (const waiting of store.values()) controller.endPause(waiting);
    clock.advance(1_000);
    await reconcile(0);
    expect([opened, completed.length]).toEqual([2, 50]);
  });

  it('goes on with the next pass where there is too much for one', async () => {
    record(2_500);
    for (let index = 0; index < 2_500; index++) await reconcile(index);
    expect([opened, countOf(`GET ${bindings}`), completed.length]).toEqual([3, 3, 2_500]);
  });

  it('is searched for no longer than until there is enough for a pass', async () => {
    record(1_500);
    await reconcile(0);
    expect(completed).toHaveLength(1_000);
    // Each of them once to see whether it is due, and once for what is asked of the target.
    expect(lookedUp).toBe(2 * 1_000);
  });

  it('goes in few passes where the target is slow, each of which does what it has time for', async () => {
    record(1_000);
    const { onRequest } = target;
    target.onRequest = (request) => {
      onRequest(request);
      if (request.method === 'DELETE') clock.advance(30);
    };
    for (let index = 0; index < 1_000; index++) await reconcile(index);
    expect(completed).toHaveLength(1_000);
    expect(countOf(`GET ${bindings}`)).toBeLessThanOrEqual(5);
  });
});

describe('a virtual cluster that takes almost five seconds for each deletion holds its worker for a minute or so', () => {
  it.each<[string, number, string]>([
    ['bindings', 1, bindings],
    ['bindings', 2, bindings],
    ['requests', 1, requests],
    ['requests', 2, requests],
  ])('of %s, with %i in one pass', async (_, count, plural) => {
    const serials = Array.from({ length: 1_000 }, (_, index) => index + 1);
    record(count, () => ({ serials }));
    const { onRequest } = target;
    target.onRequest = (request) => {
      onRequest(request);
      if (request.method === 'DELETE' && request.path.includes(`/${plural}/`)) clock.advance(4_900);
    };
    const start = clock.monotonic();
    expect(await reconcile(0)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect(clock.monotonic() - start).toBeLessThan(90_000);
    expect(completed).toEqual([]);
  });

  it('also where it lists thousands of requests that it says we made', async () => {
    record(1);
    const labelled = { [labels.ownerUID]: uidOf(0) };
    for (let serial = 2; serial < 2_000; serial++) {
      const metadata = { name: `latchkey-${uidOf(0)}-${serial}`, labels: labelled };
      target.api.create(requests, { metadata } as never);
    }
    target.onRequest = ({ method }) => {
      if (method === 'DELETE') clock.advance(4_900);
    };
    const start = clock.monotonic();
    expect(await reconcile(0)).toEqual({ requeueAfterMs: expect.any(Number) });
    expect(clock.monotonic() - start).toBeLessThan(90_000);
    expect(completed).toEqual([]);
  });
});
