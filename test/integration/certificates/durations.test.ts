import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { createCertificateRequest } from '../../../src/credentials/certificates/certificate-request.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { requestSigning, sign } from './sign.ts';

const hour = 3600;
const year = 365 * 24 * hour;

let plane: ControlPlane;
/** Of a control plane whose signer gives an hour, and of one whose signer gives a year. */
let shortSigner: KubeClient;
let longSigner: KubeClient;

const clientOf = (file: string): KubeClient =>
  createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'latchkey-test' });

beforeAll(async () => {
  plane = await startControlPlane({
    name: 'short-signer',
    extraControllerManagerArgs: ['--cluster-signing-duration=1h'],
  });
  shortSigner = clientOf(plane.adminKubeconfig);
  longSigner = clientOf((await sharedControlPlane()).adminKubeconfig);
});

afterAll(async () => {
  await shortSigner?.close();
  await longSigner?.close();
  await plane?.stop();
});

/** Seconds from the request to the end of the certificate. */
async function lifeOf(client: KubeClient, expirationSeconds?: number): Promise<number> {
  const { notAfter, askedAt } = await sign(client, 'durations', expirationSeconds);
  return (notAfter - askedAt) / 1000;
}

/** A life of so many seconds: the signer may take a moment, and its clock has whole seconds. */
function expectLife(seconds: number, expected: number): void {
  expect(seconds).toBeGreaterThan(expected - 2);
  expect(seconds).toBeLessThan(expected + 30);
}

describe('the life of a certificate', () => {
  it.each([600, hour])('is what was asked for: %i s', async (seconds) => {
    expectLife(await lifeOf(longSigner, seconds), seconds);
  });

  it('is what the signer gives when nothing was asked for', async () => {
    // From eight hours on, the signer takes the five minutes that it starts in the past from the life.
    expectLife(await lifeOf(longSigner), year - 300);
    expectLife(await lifeOf(shortSigner), hour);
  });

  it('is never longer than the signer gives', async () => {
    expectLife(await lifeOf(shortSigner, 24 * hour), hour);
    expectLife(await lifeOf(longSigner, 2 * year), year - 300);
  });

  it('may be shorter than the signer gives', async () => {
    expectLife(await lifeOf(shortSigner, 600), 600);
  });

  it('cannot be asked for below ten minutes', async () => {
    const { request } = createCertificateRequest({ commonName: 'x', organization: 'x' });
    await expect(requestSigning(longSigner, request, 599)).rejects.toMatchObject({
      status: 422,
      details: { causes: [expect.objectContaining({ field: 'spec.expirationSeconds' })] },
    });
  });
});
