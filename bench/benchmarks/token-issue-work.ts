import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { apiVersion } from '../../src/api/names.ts';
import { reasons } from '../../src/api/reasons.ts';
import { toCredentialRecord } from '../../src/credentials/credential-record.ts';
import { tokenIDBytes, tokenIDHash } from '../../src/credentials/token-id.ts';
import { signToken, tokenTooLarge } from '../../src/credentials/tokens/sign-token.ts';
import { generateSigningKey } from '../../src/credentials/tokens/signing-key.ts';
import type { IssueCredential } from '../../src/operator/credentials/issued/issued-steps.ts';
import { claimsOf } from '../../src/operator/credentials/tokens/claims.ts';
import type { Operation, Works } from '../measure/worker-process.ts';

/** Asynchronous works run so many times at once: as many as the operator has workers for each kind. */
export const concurrency = 16;

const issuer = 'https://latchkey.example.com';
const hour = 3_600_000;

/** The works of `token-issue`; each in a process of its own. */
export const works = {
  issue: issueTokens,
  sign: signWithNode,
  subtle: signWithWebCrypto,
} as const satisfies Works;

export type WorkName = keyof typeof works;

/** The operator's own code from a record to a token that may be written. */
async function issueTokens(): Promise<Operation> {
  const now = Date.now();
  const signer = await generateSigningKey({ createdAt: now, activeFrom: now, maxLife: 86_400 });
  const record = toCredentialRecord(tokenObject(), 'DirectClusterEndpointToken');
  const issue: IssueCredential = {
    step: 'issue',
    identity: { kind: 'requester', user: 'bench-user', groups: ['developers'] },
    ancestors: [],
    serial: 1,
    issuedAt: now,
    end: now + 24 * hour,
    ttl: 86_400,
    cause: reasons.issued,
    keepPrevious: false,
  };
  return () => {
    const claims = claimsOf(record, issue, { issuer, enforces: () => false }, randomBytes(tokenIDBytes));
    tokenIDHash(claims.jti);
    const token = signToken(claims, signer);
    if (tokenTooLarge(token)) throw new RangeError('the token of the benchmark is too large');
  };
}

function tokenObject(): object {
  const scope = { clusters: [{ cluster: 'east' }, { cluster: 'west' }] };
  const metadata = { name: 'bench', uid: '6a2f4c1e-93b1-4d52-8f0e-7c6d5b4a3921', resourceVersion: '1' };
  return { apiVersion, kind: 'DirectClusterEndpointToken', metadata, spec: { scope } };
}

/** As many bytes as the header and the claims of such a token have in base64url. */
const input = Buffer.alloc(620, 'a');

async function signWithNode(): Promise<Operation> {
  const key = p256Key();
  return () => sign('sha256', input, key);
}

async function signWithWebCrypto(): Promise<Operation> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const encoded = p256Key().export({ type: 'pkcs8', format: 'der' });
  const key = await crypto.subtle.importKey('pkcs8', encoded, algorithm, false, ['sign']);
  return async () => await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, input);
}

function p256Key(): KeyObject {
  const encoding = { format: 'pem' } as const;
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { ...encoding, type: 'pkcs8' },
    publicKeyEncoding: { ...encoding, type: 'spki' },
  });
  return createPrivateKey(privateKey);
}
