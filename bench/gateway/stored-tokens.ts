import { createHash } from 'node:crypto';
import { formatInstant } from '../../src/api/instant.ts';
import { annotations } from '../../src/api/names.ts';
import { computeFingerprints } from '../../src/credentials/fingerprint.ts';
import { credentialHash } from '../../src/credentials/keys/credential-hash.ts';
import { tokenIDBytes, tokenIDHash } from '../../src/credentials/token-id.ts';
import { credentialObject } from '../world/credential-objects.ts';
import { storedKey, usedKeys } from './stored-keys.ts';

const hour = 3_600_000;
const ttl = 86_400;
/** Of the key of an agent: behind those that requests come with. */
const placeOfAgent = usedKeys + 1;

/** Makes the token with this number: no signature, since a direct endpoint knows tokens by their hash. */
export const tokenOf = (index: number): string =>
  createHash('sha512').update(`token ${index} of the benchmarks`).digest('base64url');

/** The random part of its ID. */
export const randomOf = (index: number): Uint8Array =>
  createHash('sha256').update(`random part of token ${index}`).digest().subarray(0, tokenIDBytes);

/** Tokens for one cluster as they stand in etcd, issued an hour ago by the operator. */
export function* storedTokens(count: number, cluster: string, now: number) {
  for (let index = 0; index < count; index++) yield storedToken(index, cluster, now);
}

export function storedToken(index: number, cluster: string, now: number) {
  const { metadata, status, ...object } = credentialObject('DirectClusterEndpointToken', index);
  const { resourceVersion: _, ...kept } = metadata;
  const [created, end] = [formatInstant(now - hour), formatInstant(now - hour + ttl * 1_000)];
  const { chain: __, accessKeyUID: ___, ...issued } = { chain: '', accessKeyUID: '', ...status };
  const spec = { ttl, scope: { clusters: [{ cluster }] } };
  const serial = 1;
  const jti = [kept.uid, serial, Buffer.from(randomOf(index)).toString('base64url')].join('.');
  return {
    ...object,
    metadata: { ...kept, creationTimestamp: created },
    spec,
    status: {
      ...issued,
      ...{ serial, tokenID: { serial, hash: tokenIDHash(jti) } },
      ...{ credentialHash: credentialHash(tokenOf(index)), fingerprint: computeFingerprints(spec)[0] },
      // A token without a key above it speaks for its creator, and is confirmed for no one else.
      subject: kept.annotations[annotations.requester],
      ...{ issuedAt: created, confirmedTTL: ttl, notAfter: end, expirationTimestamp: end },
    },
  };
}

/** The key of the agent of one cluster, and its user. */
export function storedAgent(index: number, cluster: string, now: number) {
  const { metadata, spec, status, ...object } = storedKey(placeOfAgent + index, { now });
  const user = `agent-of-${cluster}`;
  const own = { ...spec, user, groups: [], scope: { roles: [{ role: 'agent' }], clusters: [{ cluster }] } };
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.requester]: user } },
    spec: own,
    status: { ...status, fingerprint: computeFingerprints(own)[0] },
  };
}

export const placeOf = (index: number): number => placeOfAgent + index;
