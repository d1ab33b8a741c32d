import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { type Stored, secretAt } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { insider, sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { outlineOf, type Write } from '../../../lab/operator/write.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { annotations } from '../../../src/api/names.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { Project, readingOf, tracesOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { FragileOperator } from '../availability/fragile-operator.ts';

const plane = await sharedControlPlane();
const cluster = await sharedVirtualCluster();
const gates = [await WriteGate.start(plane), await WriteGate.start(cluster.plane)] as const;
afterAll(async () => {
  for (const gate of gates) await gate.close();
});
const world = await operatorWorld({ plane, env: targetSettings, operator: false });
const { admin } = world;
const operator = new FragileOperator(world, inFrontOfBoth(...gates), targetSettings);
/** So many writes can be held at the same time, each in a project of its own: of one target the operator makes but a few at once. */
const heldTogether = 5;
let projects: readonly Project[];

/** Tells both gates what is said to the first. */
function inFrontOfBoth(first: WriteGate, second: WriteGate): WriteGate {
  return new Proxy(first, {
    get: (gate, name) => {
      const value = Reflect.get(gate, name);
      return typeof value === 'function' ? value.bind(gate) : value;
    },
    set: (gate, name, value) => Reflect.set(second, name, value) && Reflect.set(gate, name, value),
  });
}

/** One kubeconfig, and the writes that are made for it on both sides. */
class Subject {
  readonly name = world.name('every');
  readonly secret = `${this.name}-out`;
  readonly #place: number;
  #uid: string | undefined;
  #object: Stored | undefined;

  /** `place`: of its project. */
  constructor(place = 0) {
    this.#place = place;
  }

  get project(): Project {
    return projects[this.#place] as Project;
  }

  get object(): Stored {
    if (this.#object === undefined) throw new Error('nothing was made yet');
    return this.#object;
  }

  async create(): Promise<void> {
    this.#object = await this.project.create({ secretRef: { name: this.secret } }, { name: this.name });
  }

  async untilSerial(least: number): Promise<Stored> {
    const holds = ({ status }: Stored) => status.serial >= least && status.credentialHash;
    return await admin.until(this.object, `serial ${least}`, holds, { timeoutMs: 90_000 });
  }

  readonly isMeantBy = ({ plural, name, body }: Write): boolean => {
    if (plural === 'events' || plural === 'subjectaccessreviews') return false;
    // The operator may be at work before the answer to the create is here.
    if (name === this.name) this.#uid ??= body?.metadata?.uid;
    const uid = this.#object?.metadata.uid ?? this.#uid;
    return name.startsWith(this.name) || (uid !== undefined && name.includes(uid));
  };
}

interface Scenario {
  readonly title: string;
  readonly prepare: (subject: Subject) => Promise<unknown>;
  readonly begin: (subject: Subject) => Promise<unknown>;
  readonly end: (subject: Subject) => Promise<unknown>;
  readonly writes: readonly string[];
}

/** The certificate in the Secret is the confirmed one, it alone is bound, and no other was left behind. */
async function expectWhole(subject: Subject, { metadata, status }: Stored): Promise<void> {
  const { serial } = status;
  const document = await subject.project.documentIn(subject.secret);
  const { certificate } = readingOf(document);
  expect(certificate?.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(status.credentialHash);
  expect(credentialHash(document)).toBe(status.documentHash);
  expect(status.boundSerials).toEqual([serial]);
  const expected = ['ClusterRoleBinding', 'CertificateSigningRequest'].map(
    (kind) => `${kind} latchkey-UID-${serial}`,
  );
  expect(await tracesOf({ metadata }, cluster)).toEqual(expected);
}

/** Serial and record go out at once, so either may arrive first. */
function inOrder(outlines: readonly string[]): readonly string[] {
  const [record, status] = ['PATCH configmaps', 'PATCH virtualclusterinstancekubeconfigs/status'];
  const at = outlines.indexOf(record);
  return outlines[at + 1] === status && outlines[at - 1] !== status
    ? outlines.toSpliced(at, 2, status, record)
    : outlines;
}

const issued = async (subject: Subject) => {
  await subject.create();
  await subject.untilSerial(1);
};

const scenarios: readonly Scenario[] = [
  {
    title: 'an issue',
    prepare: async () => undefined,
    begin: async (subject) => await subject.create(),
    end: async (subject) => await expectWhole(subject, await subject.untilSerial(1)),
    writes: [
      'PATCH virtualclusterinstancekubeconfigs/status',
      'PATCH configmaps',
      'POST certificatesigningrequests',
      'PUT certificatesigningrequests/approval',
      'POST clusterrolebindings',
      'POST secrets',
      'PATCH virtualclusterinstancekubeconfigs/status',
    ],
  },
  {
    title: 'a rotation',
    prepare: issued,
    begin: async ({ object }) => await admin.annotate(object, { [annotations.rotate]: 'now' }),
    end: async (subject) => await expectWhole(subject, await subject.untilSerial(2)),
    writes: [
      'DELETE clusterrolebindings',
      'DELETE certificatesigningrequests',
      'PATCH virtualclusterinstancekubeconfigs/status',
      'PATCH configmaps',
      'POST certificatesigningrequests',
      'PUT certificatesigningrequests/approval',
      'POST clusterrolebindings',
      'POST secrets',
      'PUT secrets',
      'PATCH virtualclusterinstancekubeconfigs/status',
    ],
  },
  {
    title: 'a deletion',
    prepare: issued,
    begin: async ({ object }) => await admin.delete(object),
    end: async ({ object, secret, project: { namespace } }) => {
      await admin.untilGone(object, { timeoutMs: 90_000 });
      expect(await tracesOf(object, cluster)).toEqual([]);
      expect(await admin.find(secretAt(namespace, secret))).toBeUndefined();
    },
    writes: [
      'DELETE secrets',
      'DELETE clusterrolebindings',
      'DELETE certificatesigningrequests',
      'DELETE configmaps',
      'PATCH virtualclusterinstancekubeconfigs',
    ],
  },
];

beforeAll(async () => {
  await operator.start();
  const file = await gates[1].access.kubeconfigWithToken(insider.user, cluster.plane.tokenOf(insider.user));
  const kubeConfig = await readFile(file, 'utf8');
  projects = await concurrently(
    Array.from({ length: heldTogether }),
    async () => await Project.ready(world, cluster, { kubeConfig }),
  );
});

describe('undisturbed', () => {
  it.each(scenarios)(
    '$title takes the writes that are listed here',
    async ({ prepare, begin, end, writes }) => {
      const subject = new Subject();
      await prepare(subject);
      for (const gate of gates) await gate.settled();
      const before = gates.map(({ passed }) => passed.length);
      await begin(subject);
      await end(subject);
      for (const gate of gates) await gate.settled();
      const passed = gates.flatMap((gate, i) => gate.passed.slice(before[i]));
      const own = passed.filter(subject.isMeantBy).toSorted((a, b) => a.at - b.at);
      expect(inOrder(own.map(outlineOf))).toEqual(writes);
    },
  );
});

const mostWrites = Math.max(...scenarios.map(({ writes }) => writes.length));
/**
 * One SIGKILL does for all of these: each is held at its own nth write until the last has come there. A process that dies before a later
 * write leaves what one leaves that dies after the write before it.
 */
const deaths = [
  { fate: 'lost', most: 1 } as const,
  { fate: 'unanswered', most: mostWrites } as const,
].flatMap(({ fate, most }) =>
  Array.from({ length: Math.ceil(most / heldTogether) }, (_, part) => {
    const places = Array.from({ length: Math.min(heldTogether, most) }, (_, place) => ({
      place,
      nth: part * heldTogether + place + 1,
    }));
    const together = places.flatMap(({ place, nth }) =>
      scenarios
        .filter(({ writes }) => writes.length >= nth)
        .map((scenario) => ({ ...scenario, place, nth, write: scenario.writes[nth - 1] })),
    );
    return { fate, when: fate === 'lost' ? 'before' : 'after', together };
  }),
);

describe.each(deaths)('with a SIGKILL right $when', ({ fate, together }) => {
  const killed = together.map((point) => ({ ...point, subject: new Subject(point.place) }));

  beforeAll(async () => {
    await operator.untilAtWork();
    await Promise.all(killed.map(({ prepare, subject }) => prepare(subject)));
    const dead = operator.die(killed.map(({ subject, nth }) => ({ isMeant: subject.isMeantBy, nth, fate })));
    await Promise.all(killed.map(({ begin, subject }) => begin(subject)));
    await dead;
    await operator.start();
  });

  it.each(killed)('write $nth, $write, $title is completed, and nothing is left over', async (point) => {
    await until('it is completed', async () => {
      await point.end(point.subject);
      return true;
    });
  });
});
