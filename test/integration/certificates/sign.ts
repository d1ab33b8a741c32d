import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import { certificateSigningRequests } from '../../../src/api/resources.ts';
import { createCertificateRequest } from '../../../src/credentials/certificates/certificate-request.ts';
import {
  type IssuedCertificate,
  readIssuedCertificate,
} from '../../../src/credentials/certificates/issued-certificate.ts';
import { kubeConfigDocument } from '../../../src/credentials/kubeconfig-document.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { KubeObject } from '../../../src/kube/object.ts';

interface SigningRequest extends KubeObject {
  readonly spec: object;
  readonly status?: { readonly certificate?: string };
}

/** A certificate that a control plane has signed, and its key. */
export interface Signed extends IssuedCertificate {
  readonly key: string;
  /** Epoch milliseconds, between the request and its approval. */
  readonly askedAt: number;
}

/** Asks for a certificate with `CN` = `O` = `subject`, approves the request as `client`, and waits for the certificate. */
export async function sign(client: KubeClient, subject: string, expirationSeconds?: number): Promise<Signed> {
  const { request, privateKey, publicKey } = createCertificateRequest({
    commonName: subject,
    organization: subject,
  });
  const created = await requestSigning(client, request, expirationSeconds);
  const askedAt = Date.now();
  await approve(client, created);
  const certificate = await untilSigned(client, created);
  const issued = readIssuedCertificate(certificate, { subject, publicKey, now: Date.now() });
  if ('problem' in issued) throw new Error(issued.problem);
  return { ...issued, key: privateKey, askedAt };
}

/** Creates a CertificateSigningRequest for the signer of client certificates. */
export async function requestSigning(
  client: KubeClient,
  request: string,
  expirationSeconds?: number,
): Promise<SigningRequest> {
  return await client.create<SigningRequest>(certificateSigningRequests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: uniqueName('certificates') },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    },
  });
}

async function approve(client: KubeClient, created: SigningRequest): Promise<void> {
  const approval = { type: 'Approved', status: 'True', reason: 'Test', message: 'by a test' };
  await client.replace(
    certificateSigningRequests,
    created.metadata,
    { ...created, status: { conditions: [approval] } },
    { subresource: 'approval' },
  );
}

async function untilSigned(client: KubeClient, { metadata }: SigningRequest): Promise<string> {
  const encoded = await until(
    `a certificate for ${metadata.name}`,
    async () => (await client.get<SigningRequest>(certificateSigningRequests, metadata)).status?.certificate,
    { timeoutMs: 90_000 },
  );
  return Buffer.from(encoded, 'base64').toString();
}

/** Writes the document of such a holder for this control plane, readable by this user only. Returns its path. */
export async function writeDocument(
  plane: ControlPlaneAccess,
  name: string,
  user: Parameters<typeof kubeConfigDocument>[0]['user'],
): Promise<string> {
  const ca = Buffer.from(plane.caData, 'base64').toString();
  const file = path.join(plane.folder, `document-${randomUUID()}.yaml`);
  await writeFile(file, kubeConfigDocument({ server: plane.server, ca, name, user }), { mode: 0o600 });
  return file;
}
