import { hash } from 'node:crypto';
import type { Resource } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound, isForbidden } from '../../kube/kube-error.ts';
import { isNewerVersion, type KubeObject, keyOf } from '../../kube/object.ts';
import type { PolicyKind, ShippedPolicy } from './generated/shipped-policies.ts';
import { isOurs, type PolicyRecord } from './policy-record.ts';

const plurals: Readonly<Record<PolicyKind, string>> = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
};

export const policyKinds = Object.keys(plurals) as readonly PolicyKind[];

export const policyResource = (kind: PolicyKind): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: plurals[kind],
  kind,
  namespaced: false,
});

type Version = Pick<PolicyRecord, 'kind' | 'key' | 'uid' | 'generation'>;

/**
 * One value for all policies and bindings of ours, of whatever release. One that is deleted and made again has another UID, and one that
 * is edited and put back another generation, so no such time goes by without another digest.
 */
export function policyDigest(versions: Iterable<Version>): string {
  const lines = [...versions].map(({ kind, key, uid, generation }) => `${kind}/${key}=${uid}:${generation}`);
  return hash('sha256', lines.sort().join('\n'), 'hex');
}

/** The policies of the API server at one moment. */
export interface ReadPolicies {
  readonly digest: string;
  /** Every change of a policy up to this one is in the digest. */
  readonly resourceVersion: string;
}

/** All policies as the API server has them now, whatever a watch has brought of it. Its cache takes a tenth of a second to be sure. */
export async function readPolicies(
  client: Pick<KubeClient, 'metadataOnly'>,
  signal?: AbortSignal,
): Promise<ReadPolicies> {
  const { versions, resourceVersion } = await readVersions(client, signal);
  return { digest: policyDigest(versions), resourceVersion };
}

async function readVersions(client: Pick<KubeClient, 'metadataOnly'>, signal?: AbortSignal) {
  const metadataClient = client.metadataOnly();
  const lists = await Promise.all(
    policyKinds.map(async (kind) => {
      const { metadata, items } = await metadataClient.list<KubeObject>(policyResource(kind), {
        ...(signal && { signal }),
      });
      return { metadata, versions: items.filter(isOurs).map((item) => versionOf(item, kind)) };
    }),
  );
  const known = lists.map(({ metadata }) => metadata.resourceVersion);
  const resourceVersion = known.reduce((oldest, each) => (isNewerVersion(oldest, each) ? each : oldest));
  return { versions: lists.flatMap(({ versions }) => versions), resourceVersion };
}

type Piece = Pick<ShippedPolicy, 'kind' | 'name'>;

/** The digest of single policies and bindings as they are now. The API server asks etcd for each of them, which takes milliseconds. */
export async function readDigestOf(
  client: Pick<KubeClient, 'get' | 'metadataOnly'>,
  pieces: readonly Piece[],
): Promise<string> {
  try {
    const found = await Promise.all(pieces.map((piece) => readVersion(client, piece)));
    return policyDigest(found.flat());
  } catch (error) {
    // The role of an earlier release lacks `get`. Until that of this release is applied, lists say the same, and take longer.
    if (!isForbidden(error)) throw error;
    const { versions } = await readVersions(client);
    const isAsked = ({ kind, key }: Version) =>
      pieces.some((piece) => piece.kind === kind && piece.name === key);
    return policyDigest(versions.filter(isAsked));
  }
}

async function readVersion(client: Pick<KubeClient, 'get'>, { kind, name }: Piece): Promise<Version[]> {
  const object = await client.get<KubeObject>(policyResource(kind), { name }).catch(ignoreNotFound);
  return object === undefined ? [] : [versionOf(object, kind)];
}

const versionOf = ({ metadata }: KubeObject, kind: PolicyKind): Version => ({
  kind,
  key: keyOf(metadata),
  uid: metadata.uid,
  generation: metadata.generation ?? 0,
});
