import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createKeySet } from '../../src/credentials/tokens/discovery.ts';
import { generateSigningKey } from '../../src/credentials/tokens/signing-key.ts';
import { gatewayTokenFacts, type ListedKubeConfig } from './kubeconfig-facts.ts';

const signer = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 60 });
const baseURL = 'https://latchkey.example.com';
const issuer = { baseURL, keySet: { keys: [...createKeySet([signer]).keys] } };
const server = 'https://gateway.example.com/shop';
const token = await new SignJWT({ sub: 'alice' })
  .setProtectedHeader({ alg: 'ES256', kid: signer.kid })
  .setIssuer(baseURL)
  .setExpirationTime('1m')
  .sign(signer.privateKey);

const issued = (name: string, user: object): ListedKubeConfig => ({
  metadata: { name },
  status: { kubeConfig: stringify({ clusters: [{ cluster: { server } }], users: [{ user }] }) },
});

describe('the facts about a kubeconfig with a token', () => {
  it('are its server and the claims, checked with the published keys', async () => {
    const inSecret = { metadata: { name: 'ci' }, status: {} };
    const certificate = issued('admin', { 'client-certificate-data': 'MA==' });
    expect(await gatewayTokenFacts([inSecret, certificate, issued('shop', { token })], issuer)).toEqual({
      name: 'shop',
      server,
      claims: expect.objectContaining({ sub: 'alice', iss: baseURL }),
    });
  });

  it('are not given for a token that the published keys did not sign', async () => {
    const other = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 60 });
    const others = { baseURL, keySet: { keys: [...createKeySet([other]).keys] } };
    await expect(gatewayTokenFacts([issued('shop', { token })], others)).rejects.toThrow('no applicable key');
  });

  it('need one', async () => {
    const certificate = issued('admin', { 'client-certificate-data': 'MA==' });
    await expect(gatewayTokenFacts([certificate], issuer)).rejects.toThrow(
      'no sample has a kubeconfig with token in its status',
    );
  });
});
