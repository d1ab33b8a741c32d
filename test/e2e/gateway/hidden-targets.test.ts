import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { fourTargets } from './four-targets.ts';
import { gatewaySettings } from './gateway-world.ts';
import { untilKnown, untilReached } from './known-holder.ts';
import { OwnClient, ownClient } from './own-client.ts';

const { world, user, paths } = await fourTargets();
const mayEnter = await ownClient(world, { user });
const stranger = await ownClient(world, { user: world.name('stranger') });
const limited = await ownClient(world, {
  user: world.name('limited'),
  scope: {
    spaces: [{ project: '*', space: '*' }],
    projects: [{ project: '*' }],
    clusters: [{ cluster: '*' }],
  },
});
const { platform: _, ...targets } = paths;

/** The same target with another name, and where it has a project one of another project. */
const missing = (path: string): readonly string[] => [
  `${path}-missing`,
  ...(path.startsWith('project/') ? [path.replace(/^project\/[^/]+/, 'project/missing')] : []),
];
const requests: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/version'],
  ['GET', '/api/v1/namespaces/default/configmaps'],
  ['GET', '/api/v1/namespaces/kube-system/configmaps'],
  ['GET', '/api/v1/namespaces'],
  ['GET', '/api/v1/namespaces/default/configmaps?watch=true'],
  ['DELETE', '/api/v1/namespaces/default/configmaps/a'],
];

const gate = await WriteGate.start(world.plane);
const replica = await RunningGateway.start(gate.access, world.guard, {
  name: world.name('seen'),
  env: gatewaySettings,
});
afterAll(async () => {
  await replica.end();
  await gate.close();
});
/** Of the replica itself: watches, whether they are current, and when its keys were used. */
const background = /[?&](?:watch|limit)=|\/status(?:\?|$)/;

describe.each(Object.entries(targets))('a %s', (_kind, path) => {
  it.each([
    ['a stranger', stranger],
    ['a stranger with a scope', limited],
  ])('that is there and one that is not are the same for %s', async (__, client) => {
    await untilReached(world.gateway, mayEnter.key, path);
    for (const [method, rest] of requests) {
      const answers = [path, ...missing(path)].map(async (place) => {
        const { status, text } = await client.send(method, `/kubernetes/${place}${rest}`);
        return [status, withoutNames(text, place)];
      });
      const [there, ...others] = await Promise.all(answers);
      expect(there?.[0]).toBe(403);
      for (const other of others) expect([method, rest, other]).toEqual([method, rest, there]);
    }
  });

  it('that is there and one that is not cost the same: the API server is asked one question', async () => {
    await untilReached(replica, mayEnter.key, path);
    const newcomer = await ownClient(world, { user: world.name('newcomer') });
    await untilKnown(replica, newcomer.key);
    const client = new OwnClient({ gateway: replica, admin: world.admin }, newcomer.key);
    for (const place of [path, ...missing(path)]) {
      const before = gate.requests.length;
      await client.send('GET', `/kubernetes/${place}/version`);
      const asked = gate.requests.slice(before).filter((request) => !background.test(request));
      expect(asked).toEqual(['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews']);
    }
  });

  it('that is not there is not found by who may enter all', async () => {
    for (const place of missing(path))
      expect((await mayEnter.send('GET', `/kubernetes/${place}/version`)).status).toBe(404);
  });
});

/** An answer may say what was asked for. */
function withoutNames(text: string, place: string): string {
  const [, project = '', , name = ''] = place.startsWith('project')
    ? place.split('/')
    : ['', '', '', place.split('/')[1]];
  return text.replaceAll(name, '<name>').replaceAll(project === '' ? '<none>' : project, '<project>');
}
