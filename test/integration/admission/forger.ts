import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { createServer as createServerCertificate } from '../../../lab/controlplane/certificates.ts';
import { group } from '../../../src/api/names.ts';
import type { Resource } from '../../../src/api/resources.ts';
import { uniqueName } from './objects.ts';

export interface Forger {
  /** Begin the names of objects with it, and end them with that of a forgery. */
  readonly target: string;
  stop(): Promise<void>;
}

export interface ForgerOptions {
  readonly resource: Resource;
  readonly operation: 'CREATE' | 'UPDATE';
  /** JSON patches by name, which holds no hyphen. */
  readonly forgeries: Readonly<Record<string, readonly object[]>>;
}

/** A mutating webhook of somebody else: what it does has a later word than the mutating policies. */
export async function startForger(plane: ControlPlaneAccess, options: ForgerOptions): Promise<Forger> {
  const server = await listen(plane, options.forgeries);
  const name = uniqueName('somebody-else');
  const target = uniqueName('webhook-target');
  const input = JSON.stringify(await configuration(plane, server, { ...options, name, target }));
  const { exitCode, stderr } = await plane.kubectl(['create', '-f', '-'], { input });
  if (exitCode !== 0) throw new Error(stderr);
  return {
    target,
    stop: async () => {
      await plane.kubectl(['delete', 'mutatingwebhookconfiguration', name]);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function authority(plane: ControlPlaneAccess): Promise<{ certificate: string; key: string }> {
  const pki = async (file: string): Promise<string> =>
    await readFile(path.join(plane.folder, 'pki', file), 'utf8');
  return { certificate: await pki('ca.crt'), key: await pki('ca.key') };
}

async function listen(plane: ControlPlaneAccess, forgeries: ForgerOptions['forgeries']): Promise<Server> {
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

async function configuration(
  plane: ControlPlaneAccess,
  server: Server,
  { name, target, resource, operation }: ForgerOptions & { readonly name: string; readonly target: string },
): Promise<object> {
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
          { apiGroups: [group], apiVersions: ['*'], operations: [operation], resources: [resource.plural] },
        ],
        matchConditions: [{ name: 'target', expression: `object.metadata.name.startsWith('${target}')` }],
      },
    ],
  };
}
