import { describe, expect, it } from 'vitest';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { KubeConfigSimulation } from './kubeconfig-simulation.ts';

interface Scenario {
  readonly title: string;
  /** Spec of the kubeconfig. */
  readonly spec?: object;
  /** The change after the first kubeconfig was issued. Absent: its issue is the scenario. */
  readonly change?: (simulation: KubeConfigSimulation) => void;
  /** The state in the end. */
  readonly ready: 'True' | 'False' | 'gone';
}

const secretRef = { name: 'out' };

const scenarios: readonly Scenario[] = [
  { title: 'an issue', ready: 'True' },
  { title: 'an issue into a Secret', spec: { secretRef }, ready: 'True' },
  {
    title: 'a rotation',
    change: (it) => it.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } }),
    ready: 'True',
  },
  {
    title: 'a rotation of a Secret',
    spec: { secretRef },
    change: (it) => it.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } }),
    ready: 'True',
  },
  {
    title: 'a change of spec',
    change: (it) => it.edit({ spec: { server: 'https://other' } }),
    ready: 'True',
  },
  { title: 'a longer life', change: (it) => it.edit({ spec: { certificateTTL: 90_000 } }), ready: 'True' },
  {
    title: 'another authority',
    change: (it) => {
      it.ca = 'another authority';
    },
    ready: 'True',
  },
  { title: 'the end', change: (it) => it.clock.advance(86_400_000), ready: 'False' },
  {
    title: 'a rotation that is not allowed any more',
    spec: { secretRef },
    change: (it) => {
      it.verbs = ['use'];
      it.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } });
    },
    ready: 'False',
  },
  {
    title: 'the end of the instance',
    change: (it) => {
      if (it.instance !== undefined) it.instance = { ...it.instance, deleted: it.clock.now() };
    },
    ready: 'False',
  },
  { title: 'a deletion', change: (it) => it.delete(), ready: 'gone' },
  { title: 'a deletion with a Secret', spec: { secretRef }, change: (it) => it.delete(), ready: 'gone' },
];

async function begin({ spec = {}, change }: Scenario): Promise<KubeConfigSimulation> {
  const simulation = new KubeConfigSimulation();
  simulation.create(spec);
  if (change === undefined) return simulation;
  await simulation.runUntilIdle();
  expect(simulation.ready?.status).toBe('True');
  change(simulation);
  return simulation;
}

/** Nothing is left over anywhere, and what is confirmed is exactly what the holder has and the cluster binds. */
function expectWhole(simulation: KubeConfigSimulation, { ready }: Scenario): void {
  const { object, target } = simulation;
  expect(object === undefined ? 'gone' : simulation.ready?.status).toBe(ready);
  const bindings = target.api.all('clusterrolebindings');
  const requests = target.names('certificatesigningrequests');
  if (ready !== 'True') {
    expect(bindings).toEqual([]);
    expect(requests).toEqual([]);
    expect(simulation.document).toBeUndefined();
    if (ready === 'gone') expect(simulation.revocation).toBeUndefined();
    expect(object?.status?.['boundSerials']).toBeUndefined();
    return;
  }
  const { uid, status } = simulation.record;
  const live = [...(status.previous === undefined ? [] : [status.previous.serial]), status.serial];
  const names = live.map((serial) => `latchkey-${uid}-${serial}`);
  expect(bindings.map(({ metadata }) => metadata.name).toSorted()).toEqual(names.toSorted());
  expect(names).toEqual(expect.arrayContaining(requests));
  expect(status.boundSerials).toEqual(live);
  const { certificate } = simulation.held;
  expect(certificate.subject).toContain(`CN=${certificateSubject(uid, status.serial)}`);
  expect(certificate.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(status.credentialHash);
  expect(credentialHash(simulation.document ?? '')).toBe(status.documentHash);
}

async function writesOf(scenario: Scenario): Promise<number> {
  const simulation = await begin(scenario);
  const before = simulation.tried;
  await simulation.runUntilIdle();
  expectWhole(simulation, scenario);
  return simulation.tried - before;
}

describe.each(scenarios)('$title', (scenario) => {
  it('takes several writes and leaves everything whole', async () => {
    expect(await writesOf(scenario)).toBeGreaterThan(1);
  });

  it.each(['lost', 'unanswered'] as const)('goes on when any of its writes is %s', async (fate) => {
    const writes = await writesOf(scenario);
    for (let nth = 0; nth < writes; nth++) {
      const simulation = await begin(scenario);
      simulation.fates = [...Array<'works'>(nth).fill('works'), fate];
      await simulation.runUntilIdle();
      expectWhole(simulation, scenario);
    }
  });

  it.each(['lost', 'unanswered'] as const)(
    'is completed by the next process when the first dies with a write %s',
    async (fate) => {
      const writes = await writesOf(scenario);
      for (let nth = 0; nth < writes; nth++) {
        const simulation = await begin(scenario);
        simulation.dieAt(nth, fate);
        await simulation.runUntilIdle();
        simulation.restart();
        await simulation.runUntilIdle();
        expectWhole(simulation, scenario);
      }
    },
  );
});

describe('the serial in status and the record of it are written at once', () => {
  const [issue] = scenarios as readonly [Scenario];
  const fates = ['works', 'lost', 'unanswered'] as const;
  const pairs = fates.flatMap((serial) => fates.map((record) => ({ serial, record })));
  const failed = pairs.filter(({ serial, record }) => serial !== 'works' || record !== 'works');

  it.each(failed)('so nothing is asked for where serial $serial and record $record', async (pair) => {
    const simulation = await begin(issue);
    simulation.fates = [pair.serial, pair.record];
    await simulation.runOnce(0);
    expect(simulation.target.names('certificatesigningrequests')).toEqual([]);
    await simulation.runUntilIdle();
    expectWhole(simulation, issue);
  });

  it.each(pairs)('and a death goes well: serial $serial, record $record', async ({ serial, record }) => {
    const simulation = await begin(issue);
    simulation.dieAfter([serial, record]);
    await simulation.runUntilIdle();
    simulation.restart();
    await simulation.runUntilIdle();
    expectWhole(simulation, issue);
  });

  it('and a serial that only the record names is not used again', async () => {
    const simulation = await begin(issue);
    simulation.dieAfter(['lost', 'works']);
    await simulation.runUntilIdle();
    expect(simulation.revocation?.data).toMatchObject({ serials: '1' });
    expect(simulation.object?.status?.['boundSerials']).toBeUndefined();
    simulation.restart();
    await simulation.runUntilIdle();
    expect(simulation.record.status).toMatchObject({ serial: 2, boundSerials: [2] });
    expect(simulation.revocation?.data).toMatchObject({ serials: '2' });
  });

  it('and a record that is ahead of its status waits for it, and goes when nothing comes', async () => {
    const simulation = await begin(issue);
    simulation.dieAfter(['lost', 'works']);
    await simulation.runUntilIdle();
    simulation.verbs = [];
    simulation.restart();
    await simulation.runUntilIdle(0);
    expect(simulation.revocation).toBeDefined();
    await simulation.runUntilIdle(30_000);
    expect(simulation.revocation).toBeUndefined();
  });
});

describe('a signer that gives more than was asked for', () => {
  const signerLife = 315_360_000;

  function begun(): KubeConfigSimulation {
    const simulation = new KubeConfigSimulation();
    simulation.target.signerLife = signerLife;
    simulation.create({ certificateTTL: 0 });
    return simulation;
  }

  it('has the record say so before the certificate is bound, whichever write is the last', async () => {
    const whole = begun();
    await whole.runUntilIdle();
    const ends: number[] = [];
    for (let nth = 0; nth < whole.tried; nth++) {
      const simulation = begun();
      simulation.dieAt(nth, 'works');
      await simulation.runUntilIdle();
      const isBound = simulation.target.names('clusterrolebindings').length > 0;
      if (isBound)
        ends.push(Date.parse(String(simulation.revocation?.data?.['notAfter'])) - simulation.clock.now());
    }
    expect(ends).not.toEqual([]);
    for (const end of ends) expect(end).toBeGreaterThan(signerLife * 1000);
  });

  it('has the record cover the predecessor that lives on, whichever write of the renewal is the last', async () => {
    const renewed = async (dieAfter?: number) => {
      const simulation = new KubeConfigSimulation();
      const { target } = simulation;
      target.signerLife = signerLife;
      target.sign = (request) =>
        target.issue({ ...request, spec: { ...request.spec, expirationSeconds: signerLife } });
      simulation.addKey('ci');
      simulation.create({ accessKey: 'ci', certificateTTL: 7_200, renewBefore: 3_600 });
      await simulation.runUntilIdle();
      const predecessor = simulation.held.certificate.validToDate.getTime();
      target.sign = (request) => target.issue(request);
      simulation.clock.advance(3_600_000);
      const before = simulation.tried;
      if (dieAfter !== undefined) simulation.dieAt(dieAfter, 'works');
      await simulation.runUntilIdle();
      const end = Date.parse(String(simulation.revocation?.data?.['notAfter']));
      return { end, predecessor, writes: simulation.tried - before, simulation };
    };
    const whole = await renewed();
    expect(whole.simulation.record.status.boundSerials).toEqual([1, 2]);
    expect(whole.end).toBeGreaterThan(whole.predecessor);
    for (let nth = 0; nth < whole.writes; nth++) {
      const { end, predecessor } = await renewed(nth);
      expect(end).toBeGreaterThan(predecessor);
    }
  });
});
