import { generateKeyPairSync } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { reasons } from '../../../src/api/reasons.ts';
import { clusterRoleBindings, type Resource } from '../../../src/api/resources.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { badAnswer, kubeErrorFromStatus, timedOut } from '../../../src/kube/kube-error.ts';
import { toUntrustedServerError } from '../../../src/platform/targets/untrusted/untrusted-server-error.ts';
import { certificateOf, usages } from '../../builders/issued-certificate.ts';
import { KubeConfigSimulation } from './kubeconfig-simulation.ts';
import type { StoredObject } from './memory-api.ts';
import type { Signer } from './memory-target.ts';

const requests = 'certificatesigningrequests';
const clusterWide = 'clusterrolebindings';
const action = { verb: 'GET', path: '/apis/x' };
const secretOfTarget = 'what-only-the-target-knows';

const untrusted = (error: Error): Error => toUntrustedServerError(action, error) as Error;
const status = (code: number, reason: string): Error =>
  untrusted(kubeErrorFromStatus(action, code, { kind: 'Status', reason, code, message: secretOfTarget }));

function begin(
  prepare: (simulation: KubeConfigSimulation) => void = () => undefined,
  spec: object = {},
): KubeConfigSimulation {
  const simulation = new KubeConfigSimulation();
  prepare(simulation);
  simulation.create(spec);
  return simulation;
}

async function issued(spec: object = {}): Promise<KubeConfigSimulation> {
  const simulation = begin(() => undefined, spec);
  await simulation.runUntilIdle();
  expect(simulation.ready).toMatchObject({ status: 'True' });
  return simulation;
}

const rotate = (simulation: KubeConfigSimulation) =>
  simulation.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } });

const { publicKey: strangersKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** A signer that makes something of the request which is not what was asked for. */
const wrong = (change: object): Signer =>
  function sign({ metadata }) {
    const [, uid = '', serial = ''] = /^latchkey-(.*)-(\d+)$/.exec(metadata.name) ?? [];
    const name = certificateSubject(uid, Number(serial));
    return certificateOf({
      publicKey: strangersKey,
      subject: [
        ['O', name],
        ['CN', name],
      ],
      notAfter: new Date(Date.UTC(2026, 10, 22)),
      usages: [usages.client],
      ...change,
    });
  };

describe('a virtual cluster that does not sign what was asked for', () => {
  const approved = (simulation: KubeConfigSimulation) =>
    simulation.target.api.changes.filter(
      ({ plural, object }) => plural === requests && object.status?.['conditions'] !== undefined,
    );

  it.each<[string, (request: StoredObject) => object]>([
    ['another request', () => ({ request: Buffer.from('another').toString('base64') })],
    ['another signer', () => ({ signerName: 'kubernetes.io/kubelet-serving' })],
    ['more usages', ({ spec }) => ({ usages: [...((spec?.['usages'] ?? []) as string[]), 'server auth'] })],
    ['another life', () => ({ expirationSeconds: 31_536_000 })],
  ])('is never given approval for %s', async (_, change) => {
    const simulation = begin((it) => {
      it.target.admit = (request) => ({ ...request, spec: { ...request.spec, ...change(request) } });
    });
    await simulation.runUntilIdle(500);
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.certificateFailed });
    expect(approved(simulation)).toEqual([]);
    expect(simulation.target.api.all(requests)).toEqual([]);
  });

  it('is not given approval for a request that somebody else put under our name', async () => {
    const simulation = begin();
    const { uid } = simulation.record;
    const metadata = { name: `latchkey-${uid}-1` } as StoredObject['metadata'];
    simulation.target.api.create(requests, { metadata, spec: { request: 'not-ours' } });
    await simulation.runUntilIdle();
    expect(simulation.ready?.status).toBe('True');
    expect(simulation.record.status).toMatchObject({ serial: 2, boundSerials: [2] });
    expect(new Set(approved(simulation).map(({ object }) => object.metadata.name))).toEqual(
      new Set([`latchkey-${uid}-2`]),
    );
    expect(simulation.target.names(clusterWide)).toEqual([`latchkey-${uid}-2`]);
  });

  it.each<[string, Signer]>([
    ['for another key', wrong({})],
    ['for another subject', wrong({ subject: [['CN', 'system:admin']] })],
    ['in the name of system:masters', wrong({ subject: [['O', 'system:masters']] })],
    ['that is none', () => 'garbage'],
    ['of many megabytes', () => 'a'.repeat(3_000_000)],
  ])('is not believed a certificate %s', async (_, sign) => {
    const simulation = begin((it) => {
      it.target.sign = sign;
    });
    await simulation.runUntilIdle(500);
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.certificateFailed });
    expect(simulation.ready?.message).not.toContain('system:');
    expect(simulation.document).toBeUndefined();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(simulation.target.api.all(requests)).toEqual([]);
  });

  it('is not believed a certificate that ends at once', async () => {
    const simulation = begin((it) => {
      it.target.signerLife = 5;
    });
    await simulation.runUntilIdle(500);
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.certificateFailed });
  });

  it.each([
    ['denied', 'Denied', reasons.certificateDenied],
    ['failed', 'Failed', reasons.certificateFailed],
  ])('that %s it is said so', async (_, type, reason) => {
    const simulation = begin((it) => {
      it.target.sign = ({ metadata, status: present }) => {
        const conditions = [
          ...((present?.['conditions'] ?? []) as object[]),
          { type, message: secretOfTarget },
        ];
        it.target.api.patch(requests, metadata.name, { status: { conditions } }, { subresource: 'status' });
        return undefined;
      };
    });
    await simulation.runUntilIdle(500);
    expect(simulation.ready).toMatchObject({ status: 'False', reason });
    expect(JSON.stringify(simulation.object)).not.toContain(secretOfTarget);
  });

  it('is given up after 15 seconds, cleaned, and asked again after a growing while, not at once', async () => {
    let asked = 0;
    const simulation = begin((it) => {
      it.target.sign = () => {
        asked += 1;
        return undefined;
      };
    });
    const start = simulation.clock.now();
    await simulation.runUntilIdle(100);
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.certificateTimeout });
    expect(simulation.condition('Reconciling')?.reason).toBe(reasons.certificateTimeout);
    expect(simulation.clock.now() - start).toBeLessThan(16_000);
    expect(simulation.target.api.all(requests)).toEqual([]);
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    const before = asked;
    await simulation.runUntilIdle(100);
    expect(asked).toBe(before);
    simulation.target.sign = (request) => simulation.target.issue(request);
    await simulation.runUntilIdle(60_000);
    expect(simulation.ready?.status).toBe('True');
    expect(simulation.record.status.serial).toBeGreaterThan(1);
  });

  it('is asked again at once when a person changes something', async () => {
    const simulation = begin((it) => {
      it.target.sign = () => undefined;
    });
    await simulation.runUntilIdle(0);
    simulation.target.sign = (request) => simulation.target.issue(request);
    simulation.edit({ spec: { server: 'https://10.1.1.1' } });
    await simulation.runUntilIdle(0);
    expect(simulation.ready?.status).toBe('True');
  });
});

/** A client whose bindings arrive long after what was asked later. */
function lateToBind(client: KubeClient): KubeClient {
  const create = async (resource: Resource, object: object) => {
    for (let turn = 0; turn < 200 && resource === clusterRoleBindings; turn++) await setImmediate();
    return await client.create(resource, object);
  };
  return new Proxy(client, {
    get: (_, name) => {
      const value = name === 'create' ? create : Reflect.get(client, name);
      return typeof value === 'function' ? value.bind(client) : value;
    },
  });
}

describe('a certificate is bound while its signer works', () => {
  it('so that no one waits for the one after the other', async () => {
    const simulation = begin((it) => {
      it.target.sign = (request) =>
        it.target.names(clusterWide).length > 0 ? it.target.issue(request) : undefined;
    });
    await simulation.runUntilIdle(500);
    expect(simulation.ready).toMatchObject({ status: 'True' });
  });

  it('but not before its record says until when, where the signer decides on that', async () => {
    const boundAt: number[] = [];
    const simulation = begin(
      (it) => {
        it.target.sign = (request) => {
          boundAt.push(it.target.names(clusterWide).length);
          return it.target.issue(request);
        };
      },
      { certificateTTL: 0 },
    );
    await simulation.runUntilIdle(500);
    expect([simulation.ready?.status, boundAt]).toEqual(['True', [0]]);
  });

  it('and nothing is left bound when that fails, also where the binding arrives last', async () => {
    const simulation = begin((it) => {
      it.target.sign = () => 'garbage';
      const config = { server: new URL('https://10.0.0.1'), ca: it.ca };
      it.opening = { target: { client: lateToBind(it.target.client), config } };
    });
    await simulation.runUntilIdle(500);
    for (let turn = 0; turn < 400; turn++) await setImmediate();
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.certificateFailed });
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
  });
});

describe('a virtual cluster that fails', () => {
  const failures: [string, Error, string][] = [
    ['does not answer', untrusted(timedOut(action, 5_000)), reasons.targetUnreachable],
    ['does not know us', status(401, 'Unauthorized'), reasons.targetUnauthorized],
    ['forbids', status(403, 'Forbidden'), reasons.targetForbidden],
    ['answers garbage', untrusted(badAnswer(action, 'not JSON', 200)), reasons.targetAnswer],
    ['redirects', untrusted(badAnswer(action, 'status 302', 302)), reasons.targetAnswer],
    ['rejects what we send', status(422, 'Invalid'), reasons.targetAnswer],
    ['is overloaded', status(503, 'ServiceUnavailable'), reasons.targetAnswer],
  ];

  it.each(failures)(
    'and %s makes a first issue wait, with a reason and none of its text',
    async (_, failure, reason) => {
      const simulation = begin((it) => {
        it.target.failure = failure;
      });
      await simulation.runUntilIdle(500);
      expect(simulation.ready).toMatchObject({ status: 'False', reason });
      expect(simulation.condition('Reconciling')?.reason).toBe(reason);
      expect(simulation.condition('Stalled')).toBeUndefined();
      expect(JSON.stringify(simulation.object)).not.toContain(secretOfTarget);
      simulation.target.failure = undefined;
      await simulation.runUntilIdle(60_000);
      expect(simulation.ready?.status).toBe('True');
      expect(simulation.target.api.all(clusterWide)).toHaveLength(1);
      expect(simulation.target.api.all(requests)).toHaveLength(1);
    },
  );

  it.each(failures)(
    'and %s is told so where something is to be revoked, without end but without haste',
    async (_, failure, reason) => {
      const simulation = await issued();
      simulation.target.failure = failure;
      simulation.verbs = [];
      rotate(simulation);
      await simulation.runUntilIdle(0);
      expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.useNotAllowed });
      expect(simulation.condition('Reconciling')?.reason).toBe(reason);
      expect(simulation.document).toBeUndefined();
      expect(simulation.record.status.boundSerials).toEqual([1]);
      const written = simulation.platform.writes;
      await simulation.runUntilIdle(0);
      expect(simulation.platform.writes).toBe(written);
      simulation.target.failure = undefined;
      await simulation.runUntilIdle(30_000);
      expect(simulation.record.status.boundSerials).toBeUndefined();
      expect(simulation.target.api.all(clusterWide)).toEqual([]);
      expect(simulation.condition('Reconciling')?.reason).toBe(reasons.useNotAllowed);
    },
  );

  it('never has two live certificates: a rotation issues nothing before the predecessor is revoked', async () => {
    const simulation = await issued();
    simulation.target.failure = untrusted(timedOut(action, 5_000));
    rotate(simulation);
    await simulation.runUntilIdle(0);
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.targetUnreachable });
    expect(simulation.record.status).toMatchObject({ serial: 1, boundSerials: [1] });
    simulation.target.failure = undefined;
    await simulation.runUntilIdle(60_000);
    expect(simulation.record.status).toMatchObject({ serial: 2, boundSerials: [2] });
    expect(simulation.target.api.all(clusterWide)).toHaveLength(1);
  });
});

describe('a signer that gives less than was asked for', () => {
  it('decides the end in status, and when the next one is due', async () => {
    const simulation = begin((it) => {
      it.target.signerLife = 1_200;
    });
    const start = simulation.clock.now();
    await simulation.runUntilIdle();
    const { notAfter = 0, expirationTimestamp } = simulation.record.status;
    expect(notAfter).toBe(start + 1_200_000);
    expect(expirationTimestamp).toBe(notAfter);
    simulation.clock.set(notAfter);
    await simulation.runUntilIdle(0);
    expect(simulation.ready?.reason).toBe(reasons.expired);
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
  });
});
