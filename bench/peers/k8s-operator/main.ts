// The duty of reconcile-10k on @dot-i/k8s-operator as its authors ship it; see ../../README.md. What an object should
// look like is decided by Latchkey's own functions: what differs is how objects are watched, queued and written.

import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import { group, version } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { toCredentialRecord } from '../../../src/credentials/credential-record.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import type { CredentialKind, CredentialRecord } from '../../../src/credentials/record.ts';
import { noSitePolicy } from '../../../src/credentials/site-policy.ts';
import { tokenIDBytes, tokenIDHash } from '../../../src/credentials/token-id.ts';
import { signToken } from '../../../src/credentials/tokens/sign-token.ts';
import { generateSigningKey, type SigningKey } from '../../../src/credentials/tokens/signing-key.ts';
import { decideKey } from '../../../src/operator/credentials/access-keys/decide-key.ts';
import { decideIssued } from '../../../src/operator/credentials/issued/decide-issued.ts';
import { issuedStatus } from '../../../src/operator/credentials/issued/status.ts';
import { statusPatch } from '../../../src/operator/credentials/status-patch.ts';
import { claimsOf } from '../../../src/operator/credentials/tokens/claims.ts';
import { Locks } from '../../../src/platform/locks.ts';

type Base = typeof import('@dot-i/k8s-operator');
type ResourceEvent = import('@dot-i/k8s-operator').ResourceEvent;

/** Where `npm install @dot-i/k8s-operator` was run: it brings its own older client of Kubernetes. */
const [folder = ''] = process.argv.slice(2);
const issuer = 'https://latchkey.example.com';
const activityInterval = 60_000;
const expiredRetention = 3_600_000;
const tokenLimits = { activityInterval, expiredRetention, rotationOverlap: 600_000, maxTTL: 7_776_000 };

const base = createRequire(path.resolve(folder, 'package.json'))('@dot-i/k8s-operator') as Base;
const now = Date.now();
const signer = await generateSigningKey({ createdAt: now, activeFrom: now, maxLife: 86_400 });

class PeerOperator extends base.default {
  protected override async init(): Promise<void> {
    for (const { plural, kind } of [ownedAccessKeys, directClusterEndpointTokens]) {
      const onEvent = (event: ResourceEvent): Promise<void> => this.#reconcile(event, kind as CredentialKind);
      await this.watchResource(group, version, plural, onEvent);
    }
  }

  async #reconcile({ meta, object }: ResourceEvent, kind: CredentialKind): Promise<void> {
    const record = toCredentialRecord(object, kind);
    const status = kind === 'OwnedAccessKey' ? statusOfKey(record) : statusOfToken(record, signer);
    if (status !== undefined) await this.patchResourceStatus(meta, status);
  }
}

function statusOfKey(record: CredentialRecord): Record<string, unknown> | undefined {
  const step = decideKey({
    record,
    lookup: () => undefined,
    credentialByUID: () => undefined,
    claimants: () => [],
    ownSecrets: [],
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: noSitePolicy,
    hasRoom: () => true,
    now: Date.now(),
    limits: { activityInterval, expiredRetention },
  });
  return step.step === 'commit' ? statusPatch(record, step.desired, Date.now()) : undefined;
}

function statusOfToken(record: CredentialRecord, key: SigningKey): Record<string, unknown> | undefined {
  const input = {
    record,
    lookup: () => undefined,
    credentialByUID: () => undefined,
    isPublished: () => true,
    issuer,
    audiences: () => [`${issuer}/clusters`],
    unenforcedAudiences: () => [`${issuer}/clusters`],
    ownSecrets: [],
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: noSitePolicy,
    hasRoom: () => true,
    now: Date.now(),
    limits: tokenLimits,
  };
  const step = decideIssued(input);
  if (step.step !== 'issue') return undefined;
  const claims = claimsOf(record, step, { issuer, enforces: () => false }, randomBytes(tokenIDBytes));
  const token = signToken(claims, key);
  const extra = { tokenIDHash: tokenIDHash(claims.jti) };
  const issued = { document: token, credentialHash: credentialHash(token), signingKeyID: key.kid, extra };
  return statusPatch(record, issuedStatus(input, step, issued), Date.now());
}

process.once('SIGTERM', () => process.exit());
await new PeerOperator().start();
