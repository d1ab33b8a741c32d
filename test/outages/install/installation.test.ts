import { afterAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { Api, type ApiEvent, conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations, labels, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { leases } from '../../../src/api/resources.ts';
import { createKubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { policyVersion } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { readPolicies } from '../../../src/operator/admission/policy-digest.ts';
import { expectConfirmed, expectNothingConfirmed } from '../../e2e/input/nothing-confirmed.ts';
import { type Rendered, render } from '../../integration/config/render.ts';

const plane = await startControlPlane({ name: 'installation' });
const guard = await Guard.start('installation');
const client = createKubeClient({
  kubeConfig: kubeConfigSource({ file: plane.adminKubeconfig }),
  userAgent: 'latchkey-test',
});
const admin = new Api(client, () => undefined);
const shipped = await render(plane, 'default');
afterAll(async () => {
  await guard.stop();
  await client.close();
  await plane.stop();
});

const isPolicy = ({ kind }: Rendered): boolean => /AdmissionPolicy(Binding)?$/.test(kind);
const isDefinition = ({ kind }: Rendered): boolean => kind === 'CustomResourceDefinition';
const isAccount = ({ kind }: Rendered): boolean =>
  /^(Namespace|ServiceAccount|(Cluster)?Role(Binding)?)$/.test(kind);

const send = async (verb: string, objects: readonly Rendered[]): Promise<void> => {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const { exitCode, stderr } = await plane.kubectl([verb, '-f', '-'], { input });
  if (exitCode !== 0) throw new Error(stderr);
};

const place = { name: 'latchkey-operator', namespace: systemNamespace };
const shippedDeployment = shipped.find(({ kind }) => kind === 'Deployment');
/** Events are about it; the operator itself runs beside it. */
const withoutPods = {
  ...shippedDeployment,
  spec: { ...shippedDeployment?.['spec'], replicas: 0 },
} as Rendered;

/** The tests build on each other: an installation that becomes complete step by step, and loses a part again. */
describe('an operator that is started before the rest of the installation', () => {
  let operator: RunningOperator;
  let early: { readonly key: Stored; readonly token: Stored };
  /** Made while a policy is missing. */
  let late: readonly Stored[];
  /** Confirmed before, and of these one that is changed meanwhile. */
  let working: Stored;
  let edited: Stored;
  let deployment: Stored & { metadata: { uid: string } };
  const talkative = { LATCHKEY_LOG_LEVEL: 'debug' };

  const readiness = async (status: 200 | 503, text: string | RegExp): Promise<string> =>
    await until(
      `readyz says ${status} ${text}`,
      async () => {
        const answer = await healthOf(operator, '/readyz?verbose');
        return answer.status === status && answer.text.match(text) !== null && answer.text;
      },
      { timeoutMs: 90_000 },
    );

  it('waits for the definitions, and readyz and log say for which', async () => {
    await send('apply', shipped.filter(isAccount));
    await send('apply', [withoutPods]);
    deployment = (await admin.get({ kind: 'Deployment', metadata: place })) as typeof deployment;
    operator = await RunningOperator.start(plane, guard, { env: talkative });

    const text = await readiness(503, 'not synced');

    expect(text).toContain('[-]sync failed: not synced: ownedaccesskeys, directclusterendpointtokens');
    expect(text).toMatch(/\[-\]admission failed: missing, older or edited: .*latchkey-requester/);
    expect((await healthOf(operator, '/livez')).status).toBe(200);
    for (const kind of ['OwnedAccessKey', 'DirectClusterEndpointToken']) {
      await until(`the log names ${kind}`, async () => {
        const lines = (await operator.log()).split('\n').filter((line) => line.includes('watch failed'));
        return lines.some((line) => line.includes(`"kind":"${kind}"`) && line.includes('"status":404'));
      });
    }
  });

  it('goes on by itself once they are there, and waits for the policies', async () => {
    await send('apply', shipped.filter(isDefinition));
    const text = await readiness(503, /\[\+\]sync ok/);
    expect(text).toContain('[-]admission failed');
    early = { key: await admin.createKey(), token: await admin.createToken() };
    const seen = async () =>
      (await metricOf(operator, 'latchkey_reflector_objects{resource="ownedaccesskeys"}')) === 1;
    await until('the watch has brought it', seen);
    for (const object of [early.key, early.token]) {
      const { status } = await admin.get(object);
      expect(status).not.toHaveProperty('credentialHash');
      expect(status).not.toHaveProperty('token');
    }
    expect(await operator.log()).toContain('admission policies are missing: nothing new is confirmed');
  });

  it('begins when they are there, and refuses what was made before them: no one stamped who asked for it', async () => {
    await send('apply', shipped.filter(isPolicy));
    await readiness(200, 'readyz check passed');
    for (const object of [early.key, early.token]) {
      const refused = await admin.untilRefused(object, reasons.requesterUnknown, { timeoutMs: 90_000 });
      expectNothingConfirmed(refused);
      expect(conditionOf(refused)?.message).toMatch(/create it again|create the object again/);
    }
    expectConfirmed(await untilStampsCount());
  });

  it('confirms nothing new while a policy is missing or of another version; ends and deletes go on', async () => {
    const keys = await Promise.all(Array.from({ length: 6 }, createdKey));
    for (const key of keys) await admin.untilReady(key);
    [working, edited] = keys.slice(4) as [Stored, Stored];

    await Promise.all([send('delete', lost), relabel('0')]);
    // Otherwise the next leader believes nothing that was made since.
    const isSeen = async () => (await policiesSeen()) === (await readPolicies(client)).digest;
    await until('the Lease says which policies are left', isSeen);

    await readiness(503, /(?=.*latchkey-requester).*ValidatingAdmissionPolicy\/latchkey-dry-run-delete/);
    await createLate();
    await endOne(keys.slice(0, 2));
    await operator.end();
    operator = await RunningOperator.start(plane, guard, { name: 'restarted', env: talkative });
    await readiness(503, /\[\+\]sync ok/);
    await endOne(keys.slice(2, 4));
    for (const object of late) expect((await admin.get(object)).status).not.toHaveProperty('credentialHash');
  });

  it('says so once in each object that waits, and in no other', async () => {
    for (const object of late) {
      const waiting = await admin.untilRefused(object, reasons.admissionMissing);
      expectNothingConfirmed(waiting);
      expect(conditionOf(waiting)?.message).toContain(
        'a cluster administrator runs kubectl apply -k config/admission of the same release',
      );
      expect(await admin.eventsOf(waiting)).toEqual([]);
    }
    expectConfirmed(await admin.get(working));
    const scope = { roles: [{ role: 'platform-cli' }] };
    const changed = await admin.patch(edited, { spec: { scope } });
    const waiting = await admin.untilRefused(changed, reasons.admissionMissing);
    expect(waiting.status.credentialHash).toBe((await admin.get(edited)).status.credentialHash);
    const versions = async () => {
      const objects = await Promise.all([...late, edited, working].map(async (one) => await admin.get(one)));
      return objects.map(({ metadata }) => metadata.resourceVersion);
    };
    const before = await versions();
    for (const { metadata } of late) await untilRetried(metadata.name);
    expect(await versions()).toEqual(before);
  });

  it('says so to those who run the platform: an event about the Deployment names what is missing, and a metric', async () => {
    const event = await told(reasons.admissionMissing);
    expect(event).toMatchObject({ type: 'Warning', note: expect.stringContaining('latchkey-requester') });
    expect(event).not.toHaveProperty('series');
    const { stdout } = await plane.kubectl([
      'describe',
      'deployment',
      'latchkey-operator',
      '-n',
      systemNamespace,
    ]);
    expect(stdout).toContain(reasons.admissionMissing);
    expect(await metricOf(operator, 'latchkey_admission_missing')).toBeGreaterThanOrEqual(3);
  });

  it('confirms at once what waited when they are back', async () => {
    await Promise.all([send('apply', lost), relabel(policyVersion.toString())]);
    await readiness(200, 'readyz check passed');
    for (const object of [...late, edited]) expectConfirmed(await admin.untilReady(object));
    expect((await told(reasons.admissionComplete)).type).toBe('Normal');
    expect(await metricOf(operator, 'latchkey_admission_missing')).toBe(0);
  });

  /** The API server answers 503 for a while when kinds and policies are new: it asks for the schema of each again. */
  const createdKey = async (): Promise<Stored> =>
    await until('kinds and policies are known', async () => await admin.createKey(), { timeoutMs: 90_000 });

  /** A key that was made when the policies had been there for some time, as API servers act on them later than they know them. */
  const untilStampsCount = async (): Promise<Stored> => {
    const made = async () => {
      const key = await createdKey();
      const seen = await admin.until(key, 'decided', (object) => conditionOf(object)?.status !== 'Unknown');
      if (conditionOf(seen)?.status === 'True') return seen;
      return void (await admin.delete(key));
    };
    return await until('what is stamped counts', made, { everyMs: 500 });
  };

  /** The one event of this reason by the operator that runs now. */
  const told = async (reason: string): Promise<ApiEvent> =>
    await until(`an event ${reason}`, async () => {
      const events = await admin.eventsOf(deployment);
      const identity = await operator.identity();
      const own = events.filter((event) => event.reportingInstance === identity && event.reason === reason);
      expect(own.length).toBeLessThanOrEqual(1);
      return own[0];
    });

  /** The digest of the policies that the leader has seen, as its Lease says. */
  const policiesSeen = async (): Promise<string | undefined> => {
    const lease = await client.get<KubeObject>(leases, {
      namespace: systemNamespace,
      name: systemObjects.lease,
    });
    return lease.metadata.annotations?.[annotations.policiesSeen]?.split(' ')[0];
  };

  const createLate = async (): Promise<void> => {
    const place = { namespace: 'default', name: 'late' };
    late = [
      await createdKey(),
      await admin.createKey({ user: 'alice', secretRef: place }),
      await admin.createToken(),
    ];
    for (const { metadata } of late)
      await until('it was met', async () => (await operator.log()).includes(metadata.name));
  };

  /** The log says of each retry how many there were before. */
  const untilRetried = async (name: string): Promise<void> => {
    const retried = async () =>
      (await operator.log())
        .split('\n')
        .some((line) => line.includes(`"key":"${name}"`) && Number(/"failures":(\d+)/.exec(line)?.[1]) >= 3);
    await until(`${name} was reconciled again and again`, retried, { timeoutMs: 90_000 });
  };

  const lost = shipped.filter(({ metadata }) => metadata.name === 'latchkey-dry-run-delete');
  const outdated = ['mutatingadmissionpolicy', 'latchkey-requester'];
  const relabel = async (version: string) =>
    await plane.kubectl(['label', '--overwrite', ...outdated, `${labels.policyVersion}=${version}`]);

  /** Deletes the one and ends the other. */
  const endOne = async ([leaving, ending]: readonly Stored[]): Promise<void> => {
    if (leaving === undefined || ending === undefined) throw new TypeError('two keys are needed');
    await admin.delete(leaving);
    await admin.untilGone(leaving);
    await admin.patch(ending, { spec: { ttl: 1 } });
    expect((await admin.untilRefused(ending, reasons.expired)).spec.disabled).toBe(true);
  };
});
