import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { createCertificateRequest } from '../../../src/credentials/certificates/certificate-request.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { requestSigning, sign } from './sign.ts';

const hour = 3600;
const year = 365 * 24 * hour;

let client: KubeClient;

beforeAll(async () => {
  const kubeConfig = kubeConfigSource({ file: (await sharedControlPlane()).adminKubeconfig });
  client = createKubeClient({ kubeConfig, userAgent: 'latchkey-test' });
});

afterAll(async () => await client?.close());

/** Seconds from the request to the end of the certificate. */
async function lifeOf(expirationSeconds?: number): Promise<number> {
  const { notAfter, askedAt } = await sign(client, 'durations', expirationSeconds);
  return (notAfter - askedAt) / 1000;
}

/** A life of so many seconds: the signer may take a moment, and its clock has whole seconds. */
function expectLife(seconds: number, expected: number): void {
  expect(seconds).toBeGreaterThan(expected - 2);
  expect(seconds).toBeLessThan(expected + 30);
}

/** The signer gives a year. From eight hours on it takes the five minutes that it starts in the past from the life. */
const longest = year - 300;

describe('the life of a certificate', () => {
  it.each<[string, number | undefined, number]>([
    ['is what was asked for: ten minutes', 600, 600],
    ['is what was asked for: an hour', hour, hour],
    ['is what the signer gives when nothing was asked for', undefined, longest],
    ['is never longer than the signer gives', 2 * year, longest],
  ])('%s', async (_, asked, expected) => {
    expectLife(await lifeOf(asked), expected);
  });

  it('cannot be asked for below ten minutes', async () => {
    const { request } = createCertificateRequest({ commonName: 'x', organization: 'x' });
    await expect(requestSigning(client, request, 599)).rejects.toMatchObject({
      status: 422,
      details: { causes: [expect.objectContaining({ field: 'spec.expirationSeconds' })] },
    });
  });
});
