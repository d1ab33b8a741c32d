import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { createCertificateRequest } from '../../../src/credentials/certificates/certificate-request.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { requestSigning, sign, writeDocument } from './sign.ts';

let plane: ControlPlaneAccess;
let admin: KubeClient;

const clientOf = (file: string): KubeClient =>
  createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'latchkey-test' });

beforeAll(async () => {
  plane = await sharedControlPlane();
  admin = clientOf(plane.adminKubeconfig);
});

afterAll(() => admin?.close());

/** Asks the API server which user the holder of a new certificate is. */
async function whoIs(subject: string): Promise<{ username: string; groups: string[] }> {
  const { certificate, key } = await sign(admin, subject, 600);
  const client = clientOf(await writeDocument(plane, 'subjects', { certificate, key }));
  try {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { status } = await client.request<{
      status: { userInfo: { username: string; groups: string[] } };
    }>('POST', path, { body: review });
    return status.userInfo;
  } finally {
    await client.close();
  }
}

describe('the API server takes the holder of an issued certificate for exactly the subject', () => {
  it('in the form that kubeconfigs have', async () => {
    const subject = certificateSubject(randomUUID(), 12_345);
    expect(subject).toHaveLength(76);
    expect(await whoIs(subject)).toMatchObject({
      username: subject,
      groups: [subject, 'system:authenticated'],
    });
  });

  it.each([
    ['a comma', 'x,O=system:masters'],
    ['a whole name', 'CN=x,O=system:masters'],
    ['a group in the name', 'O=system:masters'],
    ['a slash', '/O=system:masters/CN=x'],
    ['a plus', 'x+O=system:masters'],
    ['an escaped comma', String.raw`x\,O=system:masters`],
    ['an escape by number', String.raw`x\0AO=system:masters`],
    ['double quotes', '"x",O="system:masters"'],
    ['single quotes', "'x'"],
    ['a semicolon and a hash', '#x;O=system:masters'],
    ['an asterisk and an ampersand', '*&*'],
    ['spaces at the ends', ' system:masters '],
    ['other scripts', 'jörg 工 🔑'],
    ['a line separator of Unicode', 'x\u{2028}O=system:masters'],
    ['letters that look like others', 'ѕystem:masters'],
    ['256 bytes', 'x'.repeat(256)],
  ])('with %s in it', async (_, subject) => {
    expect(await whoIs(subject)).toMatchObject({
      username: subject,
      groups: [subject, 'system:authenticated'],
    });
  });
});

describe('what must not be asked for', () => {
  it('a newline never leaves this process', () => {
    const name = { commonName: 'x\nO=system:masters', organization: 'x' };
    expect(() => createCertificateRequest(name)).toThrow(RangeError);
  });

  it('the group of all rights: the API server refuses the request, so it has read the group as we wrote it', async () => {
    const { request } = createCertificateRequest({ commonName: 'x', organization: 'system:masters' });
    await expect(requestSigning(admin, request)).rejects.toMatchObject({
      status: 403,
      statusMessage: expect.stringContaining('system:masters'),
    });
  });
});
