import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { type Stored, secretAt } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import type { Write } from '../../../lab/operator/write.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { Issuer, signingKeyOf } from '../../e2e/lifecycle/issuer.ts';
import { FragileOperator } from './fragile-operator.ts';

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
// The operator gives its lease back through the gate, so the gate goes after the world.
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
const issuer = new Issuer(admin);
const operator = new FragileOperator(world, gate);

const isAboutSigningKeys = ({ plural, name }: Write) =>
  (plural === 'secrets' && name === systemObjects.signingKeys) ||
  (plural === 'configmaps' && name === systemObjects.discovery);

async function storedKeyIDs(): Promise<readonly string[]> {
  const { data = {} } = await admin.get(secretAt(systemNamespace, systemObjects.signingKeys));
  return Object.keys(data).flatMap((entry) => (entry.endsWith('.pem') ? [entry.slice(0, -4)] : []));
}

describe('signing keys that are all revoked', () => {
  let token: Stored;

  beforeAll(async () => {
    await operator.start();
    token = await admin.untilReady(await admin.createToken());
  });

  it.each([
    { nth: 1, what: 'the new ones are stored', when: 'before', fate: 'lost' },
    { nth: 1, what: 'the new ones are stored', when: 'after', fate: 'unanswered' },
    { nth: 2, what: 'they are published', when: 'before', fate: 'lost' },
    { nth: 2, what: 'they are published', when: 'after', fate: 'unanswered' },
  ] as const)('are replaced once, when a SIGKILL comes right $when $what', async ({ nth, fate }) => {
    await operator.untilAtWork();
    const before = await issuer.keyIDs();
    const stored = gate.passed.length;
    const dead = operator.die([{ isMeant: isAboutSigningKeys, nth, fate }]);
    await issuer.revokeAll();
    await dead;
    await operator.start();
    const present = await until('new keys are published', async () => {
      const kids = await issuer.keyIDs();
      return kids.every((kid) => !before.includes(kid)) && kids;
    });
    expect([...present].sort()).toEqual([...(await storedKeyIDs())].sort());
    await gate.settled();
    const made = gate.passed
      .slice(stored)
      .filter((write) => write.method === 'POST' && write.name === systemObjects.signingKeys);
    expect(made.map(({ status }) => status)).toEqual([201]);
    const isSignedAnew = ({ status }: Stored) =>
      status.token !== undefined && present.includes(signingKeyOf(status.token));
    token = await admin.until(token, 'a token by a key that is published', isSignedAnew);
    await expect(issuer.verify(token.status.token)).resolves.toMatchObject({
      jti: expect.stringContaining(`${token.metadata.uid}.${token.status.serial}.`),
    });
  });
});
