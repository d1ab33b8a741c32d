import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { extras, serviceAccounts, systemNamespace } from '../../../src/api/names.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder } from '../../e2e/gateway/known-holder.ts';
import { auditEvents, auditPolicyFor } from '../../integration/rbac/audit-uses.ts';

const account = `system:serviceaccount:${systemNamespace}:${serviceAccounts.gateway}`;
const plane = await startControlPlane({ name: 'gateway-audit', auditPolicy: auditPolicyFor(account) });
afterAll(async () => await plane.stop());
const world = await gatewayWorld({}, {}, plane);
const alice = world.name('alice');
await giveRight(world.admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });

interface Event {
  readonly requestURI: string;
  readonly auditID: string;
  readonly sourceIPs: readonly string[];
  readonly user: object;
  readonly impersonatedUser: object;
}

it('the audit log of the API server has the address of the client, the user and the key, and nothing that the client says of itself', async () => {
  const { key, object } = await knownHolder(world, { user: alice });
  const path = `/api/v1/namespaces/default/configmaps?labelSelector=${world.name('asked')}`;
  const claimed = '00000000-0000-4000-8000-000000000000';
  const request = get({
    ...{ host: '127.0.0.1', port: world.gateway.port, servername: 'localhost', ca: world.gateway.ca },
    // Another address of this machine than the one that the gateway itself calls from.
    localAddress: '127.0.0.2',
    path: `/kubernetes/management${path}`,
    headers: {
      authorization: `Bearer ${key}`,
      'audit-id': claimed,
      'x-forwarded-for': '192.0.2.1',
      'x-real-ip': '192.0.2.2',
    },
  });
  const [answer] = await once(request, 'response');
  await text(answer);
  expect(answer.statusCode).toBe(200);
  const event = await until('the event', async () => {
    const events = auditEvents(await readFile(plane.auditLog ?? '', 'utf8')) as unknown as Event[];
    return events.find(({ requestURI }) => requestURI === path);
  });
  expect(event).toMatchObject({
    user: { username: account },
    impersonatedUser: {
      username: alice,
      groups: ['system:authenticated'],
      extra: { [extras.accessKey]: [`${object.metadata.name}/${object.metadata.uid}`] },
    },
  });
  expect(event.sourceIPs).toEqual(['127.0.0.2', '127.0.0.1']);
  expect(event.auditID).not.toBe(claimed);
  expect(answer.headers['audit-id']).toBe(event.auditID);
  expect(await readFile(plane.auditLog ?? '', 'utf8')).not.toContain(key);
});
