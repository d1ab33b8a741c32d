import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { annotations, finalizers, group, labels } from '../../../src/api/names.ts';
import { directClusterEndpointTokens } from '../../../src/api/resources.ts';
import type { ControlPlaneAccess } from '../../controlplane/access.ts';
import { createServer as createServerCertificate } from '../../controlplane/certificates.ts';
import type { ApiAnswer } from './api-client.ts';
import { objectOf, pathOf, uniqueName } from './objects.ts';
import { admissionWorld } from './world.ts';

const target = uniqueName('webhook-target');

/** What the webhook does to an object, by the end of its name. Webhooks come after mutating policies: theirs is the later word. */
const forgeries: Readonly<Record<string, readonly object[]>> = {
  stamps: [
    {
      op: 'add',
      path: '/metadata/annotations',
      value: {
        [annotations.requester]: 'eve',
        [annotations.requesterGroups]: '["system:masters"]',
        [annotations.createdWith]: 'eves/1',
        seen: 'true',
      },
    },
    { op: 'add', path: '/metadata/finalizers', value: [] },
  ],
  label: [{ op: 'add', path: '/metadata/labels', value: { [labels.ephemeral]: 'true' } }],
};

describe('a mutating webhook of somebody else', async () => {
  const world = await admissionWorld();
  let server: Server;
  const name = uniqueName('somebody-else');
  const create = async (forgery: string): Promise<ApiAnswer> =>
    await world.alice.send('POST', pathOf(directClusterEndpointTokens), {
      body: objectOf(directClusterEndpointTokens, {}, { name: `${uniqueName(target)}-${forgery}` }),
    });

  beforeAll(async () => {
    server = await listen(world.plane);
    const input = JSON.stringify(await configuration(name, world.plane, server));
    expect(await world.plane.kubectl(['create', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
  });
  afterAll(async () => {
    await world.plane.kubectl(['delete', 'mutatingwebhookconfiguration', name]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('forges no stamp and takes no finalizer, because the policies have their turn again', async () => {
    const answer = await vi.waitFor(
      async () => {
        const created = await create('stamps');
        expect(created.body.metadata.annotations).toHaveProperty('seen');
        return created;
      },
      { timeout: 30_000, interval: 200 },
    );
    expect(answer.status).toBe(201);
    expect(answer.body.metadata.annotations).toMatchObject({ [annotations.requester]: 'alice' });
    expect(answer.body.metadata.annotations[annotations.requesterGroups]).not.toContain('masters');
    expect(answer.body.metadata.annotations).not.toHaveProperty(annotations.createdWith);
    expect(answer.body.metadata.finalizers).toEqual([finalizers.DirectClusterEndpointToken]);
  });

  it('cannot set the ephemeral label: that policy had nothing to do and has no second turn, so the object is refused', async () => {
    const answer = await create('label');
    expect(answer).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    expect(answer.body.message).toContain(`metadata.labels[${labels.ephemeral}]: set by the policy`);
  });
});

async function authority(plane: ControlPlaneAccess): Promise<{ certificate: string; key: string }> {
  const pki = async (file: string): Promise<string> =>
    await readFile(path.join(plane.folder, 'pki', file), 'utf8');
  return { certificate: await pki('ca.crt'), key: await pki('ca.key') };
}

async function listen(plane: ControlPlaneAccess): Promise<Server> {
  const { certificate: cert, key } = createServerCertificate(await authority(plane), []);
  const server = createServer({ cert, key }, async (request, response) => {
    const review = (await json(request)) as { request: { uid: string; name: string } };
    const forgery = forgeries[review.request.name.split('-').at(-1) ?? ''] ?? [];
    const patch = Buffer.from(JSON.stringify(forgery)).toString('base64');
    const answer = { uid: review.request.uid, allowed: true, patchType: 'JSONPatch', patch };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...review, response: answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function configuration(name: string, plane: ControlPlaneAccess, server: Server): Promise<object> {
  const { certificate } = await authority(plane);
  const { port } = server.address() as AddressInfo;
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'forger.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(certificate).toString('base64'),
        },
        rules: [
          {
            apiGroups: [group],
            apiVersions: ['*'],
            operations: ['CREATE'],
            resources: [directClusterEndpointTokens.plural],
          },
        ],
        matchConditions: [{ name: 'target', expression: `object.metadata.name.startsWith('${target}')` }],
      },
    ],
  };
}
