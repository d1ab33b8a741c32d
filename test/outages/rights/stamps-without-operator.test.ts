import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens } from '../../../src/api/resources.ts';
import { Issuer } from '../../e2e/lifecycle/issuer.ts';
import { introduce, type Person } from '../../e2e/rights/people.ts';
import { stamps } from './crowd.ts';
import { takeAway } from './policies-away.ts';

const plane: ControlPlane = await startControlPlane({ name: 'stamps-without-operator' });
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane });
const { admin } = world;
const issuer = new Issuer(admin);
const { requester, requesterGroups, rotate } = annotations;

interface Claims {
  readonly sub?: string;
  readonly groups?: readonly string[];
}

const claimsOf = async ({ status }: Stored): Promise<Claims> => (await issuer.verify(status.token)) as Claims;

describe('stamps that are forged on an issued token while no operator works', () => {
  let mallory: Person;
  let asOther: Stored;
  let withGroup: Stored;
  let honest: Stored;

  beforeAll(async () => {
    mallory = await introduce(world, 'mallory', ['devs']);
    const make = async () =>
      await admin.untilReady(await mallory.create(directClusterEndpointTokens, { ttl: 600 }));
    [asOther, withGroup, honest] = [await make(), await make(), await make()];
    await world.killOperator();
    const bringBack = await takeAway(plane, stamps);
    const forge = async (token: Stored, forged: Record<string, string>) =>
      await until('the stamps are forged', async () => {
        const patch = { metadata: { annotations: { ...forged, [rotate]: 'now' } } };
        const { status, body } = await mallory.patch(token, directClusterEndpointTokens, patch);
        const found = body.metadata?.annotations ?? {};
        return status === 200 && Object.entries(forged).every(([name, value]) => found[name] === value);
      });
    await forge(withGroup, { [requesterGroups]: '["devs","admins","system:authenticated"]' });
    await forge(asOther, { [requester]: 'platform-admin' });
    await forge(honest, {});
    await bringBack();
    await world.startOperator();
  }, 120_000);

  it('do not make it one of somebody else', async () => {
    const { status } = await admin.untilRefused(asOther, reasons.requesterUnknown, { timeoutMs: 90_000 });
    expect(status).not.toHaveProperty('token');
  });

  it('give it no group that it was not issued with', async () => {
    const seen = await admin.until(withGroup, 'decided', ({ status }) => status.observedRotation === 'now', {
      timeoutMs: 90_000,
    });
    expect((await claimsOf(await admin.untilReady(seen))).groups).toEqual(['devs']);
  });

  it('a rotation without a forged stamp is done', async () => {
    const seen = await admin.until(honest, 'rotated', ({ status }) => status.serial === 2, {
      timeoutMs: 90_000,
    });
    expect(await claimsOf(await admin.untilReady(seen))).toMatchObject({ sub: 'mallory', groups: ['devs'] });
  });
});
