import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { type ApiClient, clientFor, contentTypes } from '../admission/api-client.ts';
import { auditEvents, auditPolicyFor, usesOf } from './audit-uses.ts';
import { describePermission } from './permissions.ts';

describe('the audit log of an API server', () => {
  let plane: ControlPlane;
  let client: ApiClient;

  beforeAll(async () => {
    plane = await startControlPlane({ name: 'audit', auditPolicy: auditPolicyFor('worker') });
    client = await clientFor(plane, 'worker', ['system:masters']);
  });
  afterAll(async () => {
    await client?.close();
    await plane?.stop();
  });

  it('shows what one user asked for, and nothing of others', async () => {
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const send = async (method: string, path: string, options = {}): Promise<number> =>
      (await client.send(method, path, options)).status;
    await send('POST', configMaps, { body: { metadata: { name: 'a' } } });
    await send('GET', `${configMaps}/a`);
    await send('GET', configMaps);
    await send('GET', configMaps, { query: { fieldSelector: 'metadata.name=a' } });
    await send('GET', '/api/v1/configmaps');
    await send('PATCH', `${configMaps}/a`, { body: {}, contentType: contentTypes.mergePatch });
    await send('PATCH', '/api/v1/namespaces/default/status', {
      body: {},
      contentType: contentTypes.mergePatch,
    });
    await send('DELETE', `${configMaps}/missing`);
    await send('DELETE', configMaps, { query: { labelSelector: 'none=none' } });
    await send('GET', '/version');
    await plane.kubectl(['get', 'secrets']);
    const uses = await vi.waitFor(async () => {
      const found = usesOf(auditEvents(await readFile(plane.auditLog ?? '', 'utf8')), 'worker');
      expect(found.map(({ verb }) => verb)).toContain('deletecollection');
      return found;
    }, 90_000);
    expect(uses.map(describePermission).sort()).toEqual([
      'create configmaps named a in default',
      'delete configmaps named missing in default',
      'deletecollection configmaps in default',
      'get configmaps named a in default',
      'list configmaps',
      'list configmaps in default',
      'list configmaps named a in default',
      'patch configmaps named a in default',
      'patch namespaces/status named default in default',
    ]);
  });
});
