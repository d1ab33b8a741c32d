import { sign } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  createAuthority,
  createServer as createServerCertificate,
} from '../../../lab/controlplane/certificates.ts';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { until } from '../../../lab/operator/until.ts';
import { criticalScopes } from '../../../src/api/names.ts';
import { type TokenClaims, tokenClaims } from '../../../src/credentials/tokens/claims.ts';
import { createKeySet, discoveryDocument } from '../../../src/credentials/tokens/discovery.ts';
import { signToken } from '../../../src/credentials/tokens/sign-token.ts';
import { generateSigningKey, type SigningKey } from '../../../src/credentials/tokens/signing-key.ts';

const issuer = 'https://latchkey.example.com';
const authority = createAuthority('issuer of these tests');
const page = path.resolve(import.meta.dirname, '../../../docs/reference/trusting-clusters.md');

let key: SigningKey;
let server: Server;
let folder: string;
let plane: ControlPlane;

beforeAll(async () => {
  key = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 86_400 });
  server = await publish();
  folder = await mkdtemp(path.join(tmpdir(), 'latchkey-authentication-'));
  const file = path.join(folder, 'authentication.yaml');
  await writeFile(file, stringify(await configuration()));
  plane = await startControlPlane({
    name: 'without-the-rule',
    extraApiServerArgs: [`--authentication-config=${file}`],
  });
  const isRead = async () => await isAccepted(signToken(claimsOf([]), key));
  await until('the key set was read', isRead, { timeoutMs: 120_000 });
}, 180_000);

afterAll(async () => {
  await plane?.stop();
  server?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Serves the documents of the issuer in place of the gateway: the tests sign what the operator never would. */
async function publish(): Promise<Server> {
  const { certificate: cert, key: privateKey } = createServerCertificate(authority, []);
  const made = createServer({ cert, key: privateKey }, ({ url }, response) => {
    const { port } = made.address() as AddressInfo;
    const document = { ...discoveryDocument(issuer), jwks_uri: `https://127.0.0.1:${port}/jwks` };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(url === '/jwks' ? createKeySet([key]) : document));
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return made;
}

/** Reads the guide's configuration, without the rule about scopes. */
async function configuration(): Promise<object> {
  const [, block = ''] = /^```yaml\n(.*?)^```/ms.exec(await readFile(page, 'utf8')) ?? [];
  const shown = parse(block);
  const { port } = server.address() as AddressInfo;
  const discoveryURL = `https://127.0.0.1:${port}/.well-known/openid-configuration`;
  Object.assign(shown.jwt[0].issuer, { discoveryURL, certificateAuthority: authority.certificate });
  expect(shown.jwt[0]).toHaveProperty('claimValidationRules');
  delete shown.jwt[0].claimValidationRules;
  return shown;
}

const claimsOf = (scopes: readonly unknown[], audience = 'clusters'): TokenClaims =>
  tokenClaims({
    issuer,
    audience: [`${issuer}/${audience}`],
    identity: { kind: 'user', user: 'alice', groups: ['dev'] },
    object: { kind: 'DirectClusterEndpointToken', name: 'deploy', uid: 'uid-1' },
    serial: 1,
    scopes,
    issuedAt: Date.now() - 1_000,
    notAfter: Date.now() + 600_000,
  });

/** The same claims under these parameters of the header, whatever they say of scopes. */
function withHeader(claims: TokenClaims, more: object): string {
  const parts = [{ alg: 'ES256', typ: 'JWT', kid: key.kid, ...more }, claims];
  const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

async function isAccepted(token: string): Promise<boolean> {
  const kubeconfig = await plane.kubeconfigWithToken('bearer', token);
  const { stderr, exitCode } = await plane.kubectl(['auth', 'whoami'], { kubeconfig });
  if (exitCode === 0) return true;
  if (/Unauthorized|must be logged in/.test(stderr)) return false;
  throw new Error(`kubectl auth whoami: ${stderr}`);
}

describe('an API server that trusts the issuer and has no rule about scopes', () => {
  it.each([
    ['without a scope', [], 'clusters'],
    ['for all clusters', [{ clusters: [{ cluster: '*' }] }], 'clusters'],
    ['for this cluster', [{ clusters: [{ cluster: 'staging' }] }], 'cluster/staging'],
    ['with a role', [{ clusters: [{ cluster: '*' }], roles: [{ role: 'platform-cli' }] }], 'clusters'],
    ['with an empty list', [{ clusters: [{ cluster: '*' }], rules: [] }], 'clusters'],
  ])('takes a token %s', async (_, scopes, audience) => {
    expect(await isAccepted(signToken(claimsOf(scopes, audience), key))).toBe(true);
  });

  const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], namespaces: ['web'] };
  it.each([
    ['a rule', [{ rules: [rule] }]],
    ['a project', [{ projects: [{ project: 'web' }] }]],
    ['a space', [{ spaces: [{ project: 'web', space: 'a' }] }]],
    ['a virtual cluster', [{ virtualClusters: [{ project: 'web', virtualCluster: 'a' }] }]],
    ['a rule of a key above', [{ clusters: [{ cluster: '*' }] }, { rules: [rule] }]],
    ['what no release knows', [{ clusters: [{ cluster: '*' }], somethingNew: true }]],
  ])('refuses one for %s, which it would take but for the header', async (_, scopes) => {
    expect(await isAccepted(withHeader(claimsOf(scopes), {}))).toBe(true);
    expect(await isAccepted(signToken(claimsOf(scopes), key))).toBe(false);
  });

  it('refuses the header whatever the claims say', async () => {
    const header = { crit: [criticalScopes], [criticalScopes]: true };
    expect(await isAccepted(withHeader(claimsOf([]), header))).toBe(false);
  });
});
