import { hash } from 'node:crypto';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createKeySet } from '../../src/credentials/tokens/discovery.ts';
import { generateSigningKey } from '../../src/credentials/tokens/signing-key.ts';
import { environmentText } from './environment.ts';
import { keyFacts, parentIn, type Summary, tokenFacts } from './summary.ts';
import { renderMoreTrials, renderSummary } from './summary-text.ts';

const secret = 'lk_a-key-that-nobody-may-see';
const keyID = hash('sha256', secret, 'hex').slice(0, 16);
const key = {
  kind: 'OwnedAccessKey',
  metadata: { name: 'ci' },
  spec: { key: secret },
  status: { credentialHash: hash('sha256', secret, 'hex'), keyID, keySource: 'Generated' },
};
const signer = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 60 });
const baseURL = 'https://latchkey.example.com';
const issuer = { baseURL, keySet: { keys: [...createKeySet([signer]).keys] } };

async function tokenFrom(issuer: string) {
  const token = await new SignJWT({ sub: 'alice' })
    .setProtectedHeader({ alg: 'ES256', kid: signer.kid })
    .setIssuer(issuer)
    .setExpirationTime('1m')
    .sign(signer.privateKey);
  return { kind: 'DirectClusterEndpointToken', metadata: { name: 'tok' }, spec: {}, status: { token } };
}

describe('the facts about a key', () => {
  it('are those of the first key whose plain form stands in the object', () => {
    const hashed = { ...key, metadata: { name: 'hashed' }, spec: { key: `sha256:${'0'.repeat(64)}` } };
    expect(keyFacts([hashed, { ...key, spec: {} }, key])).toEqual({
      name: 'ci',
      keyID,
      keySource: 'Generated',
    });
  });

  it('are not given when the status has another hash', () => {
    const other = { ...key, status: { ...key.status, credentialHash: '0'.repeat(64) } };
    expect(() => keyFacts([other])).toThrow('of the OwnedAccessKey ci is not the SHA-256 of its spec.key');
  });

  it('need a key', () => {
    expect(() => keyFacts([])).toThrow('no sample has a plain key');
  });
});

describe('the facts about a token', () => {
  it('are its header and claims, checked with the published keys', async () => {
    const facts = await tokenFacts([key, await tokenFrom(baseURL)], issuer);
    expect(facts).toMatchObject({
      name: 'tok',
      header: { kid: signer.kid },
      claims: { sub: 'alice' },
      publishedKeys: [signer.kid],
    });
  });

  it('are not given for a token that the published keys did not sign', async () => {
    const other = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 60 });
    const others = { baseURL, keySet: { keys: [...createKeySet([other]).keys] } };
    await expect(tokenFacts([await tokenFrom(baseURL)], others)).rejects.toThrow('no applicable key');
  });

  it('are not given for a token of another issuer', async () => {
    const elsewhere = await tokenFrom('https://elsewhere.example.com');
    await expect(tokenFacts([elsewhere], issuer)).rejects.toThrow('unexpected "iss" claim value');
  });

  it('need a token', async () => {
    await expect(tokenFacts([key], issuer)).rejects.toThrow('no sample has a token');
  });
});

it('offers a key to try things with that tokens, or else keys, name as theirs', () => {
  const child = { ...key, spec: { accessKey: 'of-key' } };
  const token = { ...key, kind: 'DirectClusterEndpointToken', spec: { accessKey: 'of-token' } };
  expect(parentIn([key, child, token])).toBe('of-token');
  expect(parentIn([key, child])).toBe('of-key');
  expect(() => parentIn([key])).toThrow('no sample names an access key');
});

const posted = (place: string, output: string) => ({
  ...{ body: 'spec: {}', url: `https://127.0.0.1:8443/${place}`, made: `a ${place}` },
  ...{ file: `/x/${place}.yaml`, output },
});

it('shows everything but the credentials, and leaves everything but them to a shell', async () => {
  const token = await tokenFrom(baseURL);
  const summary: Summary = {
    listing: 'NAME  READY\nci    True',
    key: keyFacts([key]),
    parent: 'shared',
    token: await tokenFacts([token], issuer),
    kubeConfigs: {
      listing: 'shop-admin  ClientCertificate',
      certificate: {
        name: 'shop-admin',
        file: '/x/issued/shop-admin.yaml',
        user: 'management.platform.sh:kubeconfig:uid:1',
        notAfter: '2026-11-21T12:00:00.000Z',
        namespaces: 'kube-system  Active',
      },
      token: {
        name: 'shop',
        server: 'https://gateway.example.com/shop',
        claims: { sub: 'bob' },
        file: '/x/issued/shop.yaml',
        namespaces: 'shop-web  Active',
      },
    },
    gateway: {
      baseURL: 'https://127.0.0.1:8443',
      caFile: '/x/ca.crt',
      key: 'ci',
      file: '/x/holder.yaml',
      version: '{ "major": "1" }',
      whoAmI: 'Username  alice',
      namespaces: 'p-demo  Active',
    },
    posted: {
      key: posted('ownedaccesskeys', 'Username  carol'),
      token: posted('directclusterendpointtokens', 'Username  dave'),
      kubeConfig: posted('kubeconfig', 'shop-api  Active'),
    },
    trusting: { server: 'https://127.0.0.1:6443', caFile: '/x/staging.crt' },
    kubeconfig: '/x/alice.yaml',
    adminKubeconfig: '/x/admin.yaml',
    userKubeconfig: '/x/bob.yaml',
    kubectl: { folder: '/bin', cache: '/x/cache' },
  };
  const text = renderSummary(summary);
  for (const shown of [
    'ci    True',
    keyID,
    signer.kid,
    '"sub": "alice"',
    'shop-admin  ClientCertificate',
    'management.platform.sh:kubeconfig:uid:1',
    '2026-11-21T12:00:00.000Z',
    '$ kubectl --kubeconfig=/x/issued/shop-admin.yaml get ns\nkube-system  Active',
    'https://gateway.example.com/shop',
    '"sub": "bob"',
    '"Authorization: Bearer $KEY" https://127.0.0.1:8443/kubernetes/management/version\n{ "major": "1" }',
    '$ kubectl --kubeconfig=/x/holder.yaml auth whoami\nUsername  alice',
    '$ kubectl --kubeconfig=/x/holder.yaml get ns\np-demo  Active',
    '$ kubectl --kubeconfig=/x/issued/shop.yaml get ns\nshop-web  Active',
    `-d 'spec: {}' https://127.0.0.1:8443/ownedaccesskeys\n  made: a ownedaccesskeys\n`,
    '$ kubectl --kubeconfig=/x/ownedaccesskeys.yaml auth whoami\nUsername  carol',
    '--server=https://127.0.0.1:6443 --certificate-authority=/x/staging.crt --token="$TOKEN" auth whoami\nUsername  dave',
    '$ kubectl --kubeconfig=/x/kubeconfig.yaml get ns\nshop-api  Active',
  ]) {
    expect(text).toContain(shown);
  }
  const without = renderSummary({ ...summary, posted: undefined });
  expect(without).toContain('in no other:\n(there is no curl on this machine)');
  const environment = environmentText(
    summary,
    { operator: '/x/operator.log', gateway: '/x/gateway.log' },
    { bin: '/x/bin', password: 'p', pageURL: 'https://keys.localhost:5' },
  );
  for (const line of [
    "export KUBECONFIG='/x/alice.yaml'",
    "export KUBECACHEDIR='/x/cache'",
    'export PATH=\'/x/bin:/bin\':"$PATH"',
    "export ADMIN='/x/admin.yaml'",
    "export BOB='/x/bob.yaml'",
    "export DANA_PASSWORD='p'",
    "export PAGE='https://keys.localhost:5'",
    "export SHOP='/x/issued/shop-admin.yaml'",
    "export GATEWAY='https://127.0.0.1:8443'",
    "export CA='/x/ca.crt'",
    'export KEY="$(kubectl get oak ci -o jsonpath={.spec.key})"',
    "export PLATFORM='/x/holder.yaml'",
    "export API='https://127.0.0.1:8443/kubernetes/management/apis/management.platform.sh/v1'",
    "export STAGING='https://127.0.0.1:6443'",
    "export STAGING_CA='/x/staging.crt'",
    "export OPERATOR_LOG='/x/operator.log'",
    "export GATEWAY_LOG='/x/gateway.log'",
  ]) {
    expect(environment.split('\n')).toContain(line);
  }
  for (const rendered of [text, environment, renderMoreTrials(summary)]) {
    expect(rendered).not.toContain(secret);
    expect(rendered).not.toContain(token.status.token);
  }
});
