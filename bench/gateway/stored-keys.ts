import { createHash } from 'node:crypto';
import { formatInstant } from '../../src/api/instant.ts';
import { annotations } from '../../src/api/names.ts';
import { computeFingerprints } from '../../src/credentials/fingerprint.ts';
import { generateAccessKey } from '../../src/credentials/keys/access-key.ts';
import { credentialHash, keyIDOf } from '../../src/credentials/keys/credential-hash.ts';
import { credentialObject } from '../world/credential-objects.ts';

/** The first keys are those that requests come with; their scope has ten entries. The others are just there. */
export const usedKeys = 1_000;

/** Where the objects are that requests ask for. */
export const namespaces = { small: 'bench-small', shortList: 'bench-100k', longList: 'bench-5m' } as const;

const hour = 3_600_000;
const ttl = 7_776_000;

export interface KeyTimes {
  /** Epoch milliseconds. */
  readonly now: number;
  /** When the key was used last, epoch milliseconds; absent: long ago. */
  readonly lastActivity?: number;
}

/** Makes the secret of a key: the same in every run. */
export function secretOf(index: number): string {
  return generateAccessKey(createHash('sha256').update(`key ${index} of the benchmarks`).digest());
}

/** An access key as it stands in etcd: applied an hour ago and confirmed by the operator. */
export function storedKey(index: number, { now, lastActivity }: KeyTimes) {
  const { metadata, status, spec: plain, ...object } = credentialObject('OwnedAccessKey', index);
  const hash = credentialHash(secretOf(index));
  const spec = { ...plain, key: `sha256:${hash}`, ...(index < usedKeys && { scope: scopeOf(index) }) };
  const [created, end] = [formatInstant(now - hour), formatInstant(now - hour + ttl * 1_000)];
  const { resourceVersion: _, annotations, ...kept } = metadata;
  return {
    ...object,
    metadata: { ...kept, annotations, creationTimestamp: created },
    spec,
    status: {
      ...status,
      credentialHash: hash,
      keyID: keyIDOf(hash),
      fingerprint: computeFingerprints(spec)[0],
      notAfter: end,
      expirationTimestamp: end,
      ...(lastActivity !== undefined && { lastActivity: formatInstant(lastActivity) }),
    },
  };
}

/** An owner of keys that no other benchmark uses. */
export const ownerOf = (count: number): string => `owner-of-${count}`;

/** Of the keys of somebody who has `count` of them, the one with this number. It has no scope, so its holder sees all of them. */
export function ownKey(count: number, index: number, times: KeyTimes) {
  const { metadata, spec, status, ...object } = storedKey(placeOfOwnKey(count, index), times);
  const user = ownerOf(count);
  const own = { ...spec, user, groups: [], scope: undefined };
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.requester]: user } },
    spec: own,
    status: { ...status, fingerprint: computeFingerprints(own)[0] },
  };
}

/** Makes the secret of that key. */
export const ownSecret = (count: number, index: number): string => secretOf(placeOfOwnKey(count, index));

/** Behind all others, and each owner with room for a million. */
const placeOfOwnKey = (count: number, index: number): number => (count + 1) * 1_000_000 + index;

/** Keys one after the other: an array of 100,000 would be hundreds of megabytes. */
export function* storedKeys(
  from: number,
  to: number,
  times: KeyTimes,
): Generator<ReturnType<typeof storedKey>> {
  for (let index = from; index < to; index++) yield storedKey(index, times);
}

/** The last of ten entries is the one that allows the requests of the benchmarks, so all are judged. */
function scopeOf(index: number): object {
  const names = (kind: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, entry) => `${kind}-${(index + entry) % 40}`);
  const [project] = names('project', 1);
  return {
    projects: names('project', 3).map((name) => ({ project: name })),
    spaces: names('space', 2).map((space) => ({ project, space })),
    virtualClusters: names('virtual-cluster', 2).map((virtualCluster) => ({ project, virtualCluster })),
    clusters: names('cluster', 2).map((cluster) => ({ cluster })),
    rules: [
      {
        requestTargets: ['Management'],
        verbs: ['get', 'list', 'watch'],
        resources: [{ group: '', resources: ['configmaps'] }],
        namespaces: Object.values(namespaces),
      },
    ],
  };
}
