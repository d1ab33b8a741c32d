import { Agent, request } from 'undici';
import { entryOf, type Stored, secretAt, type Target } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import {
  kubeConfigSecret,
  type SecretForm,
  secretPlace,
  type VirtualCluster,
} from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { targetsNamespace } from '../../../src/api/names.ts';
import { clusters, secrets, virtualClusterInstances } from '../../../src/api/resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { makeIdentity } from '../../../src/kube/client/client-identity.ts';
import type { Impersonation } from '../../../src/kube/client/impersonation.ts';
import { createUntrustedClient } from '../../../src/platform/targets/untrusted/untrusted-answers.ts';

export interface InstanceOptions {
  readonly form?: SecretForm;
  readonly namespace?: string;
  /** Default: one that no other has. */
  readonly name?: string;
  readonly spec?: object;
  /** Text of the administrator kubeconfig. Default: a new one with a client certificate. */
  readonly kubeConfig?: string;
}

/** An instance, and the Secret that it reads. */
export interface Made {
  readonly instance: Stored;
  readonly secret: Target;
  /** Its entry with the administrator kubeconfig. */
  readonly key: string;
}

/** Makes the Secret that a maker of virtual clusters would write, and an instance for it. */
export async function makeInstance(
  { admin }: World,
  cluster: VirtualCluster,
  options: InstanceOptions = {},
): Promise<Made> {
  const { form = 'vcluster', namespace = 'default', spec = {}, name = uniqueName('vc') } = options;
  const kubeConfig = options.kubeConfig ?? (await cluster.adminKubeConfig());
  await admin.createObject(secrets, kubeConfigSecret(form, name, kubeConfig, namespace));
  const place = secretPlace(form, name);
  // The Secret that a vCluster writes is found without being named.
  const reference = form === 'vcluster' ? {} : { kubeConfigSecretRef: place };
  const instance = await admin.create(
    virtualClusterInstances,
    { ...reference, ...spec },
    { name, namespace },
  );
  return { instance, secret: secretAt(namespace, place.name), key: place.key };
}

/** A Cluster whose administrator kubeconfig stands in `default`. */
export async function makeCluster(
  { admin }: World,
  kubeConfig: string,
  spec: object = {},
  name = uniqueName('cluster'),
): Promise<{ readonly cluster: Stored; readonly secret: Target }> {
  await admin.createObject(secrets, kubeConfigSecret('cluster-api', name, kubeConfig));
  const place = secretPlace('cluster-api', name);
  const kubeConfigSecretRef = { namespace: 'default', ...place };
  const cluster = await admin.create(clusters, { kubeConfigSecretRef, ...spec }, { name });
  return { cluster, secret: secretAt('default', place.name) };
}

/** Writes another administrator kubeconfig into the Secret. */
export async function rewrite({ admin }: World, { secret, key }: Made, kubeConfig: string): Promise<void> {
  await admin.patch(secret, { data: { [key]: Buffer.from(kubeConfig).toString('base64') } });
}

/** The Secret in which the operator keeps the access to a target. */
export const accessSecretOf = ({ metadata }: Stored): Target =>
  secretAt(targetsNamespace, `latchkey-target-${metadata.uid}`);

/** The access that the gateway will use: address, authority and token. */
export interface Access {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
}

export async function accessOf({ admin }: World, target: Stored): Promise<Access> {
  const secret = await admin.get(accessSecretOf(target));
  const [server, ca, token] = ['server', 'ca.crt', 'token'].map((entry) => entryOf(secret, entry));
  return { server, ca, token } as Access;
}

/** A request to the target with the token of the impersonator. Resolves with the status and the answer. */
export async function callAs(
  { server, ca, token }: Access,
  method: 'GET' | 'POST',
  path: string,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): Promise<{ readonly status: number; readonly body: Stored }> {
  // Over HTTP/2 undici joins the values of a header to one, which is the name of another group.
  const dispatcher = new Agent({ allowH2: false, connect: { ca } });
  const body = method === 'POST' ? { body: JSON.stringify({ metadata: {} }) } : {};
  try {
    const answer = await request(new URL(path, server), {
      ...{ method, dispatcher, ...body },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers } as Record<
        string,
        string | string[]
      >,
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Stored };
  } finally {
    await dispatcher.close();
  }
}

/** Works with a client of the target that speaks with the token of the impersonator, for another user. */
export async function workAs(
  { server, ca, token }: Access,
  who: Impersonation,
  work: (client: KubeClient) => Promise<void>,
): Promise<void> {
  const identity = makeIdentity(new URL(server), { ca }, ['authorization', `Bearer ${token}`]);
  const client = createUntrustedClient({ identity, userAgent: 'test' });
  try {
    await work(client.as(who));
  } finally {
    await client.close();
  }
}

/** The objects that the operator makes in every target, and the binding of users. */
export const inTarget = {
  account: {
    kind: 'ServiceAccount',
    metadata: { namespace: 'kube-system', name: 'latchkey-impersonator' },
  },
  role: { kind: 'ClusterRole', metadata: { name: 'latchkey-impersonator' } },
  binding: { kind: 'ClusterRoleBinding', metadata: { name: 'latchkey-impersonator' } },
  users: { kind: 'ClusterRoleBinding', metadata: { name: 'management.platform.sh:users' } },
} as const satisfies Record<string, Target>;

/** Lists which of them are there. */
export async function foundInTarget({ admin }: VirtualCluster): Promise<readonly string[]> {
  const found = await Promise.all(
    Object.entries(inTarget).map(async ([what, place]) => ((await admin.find(place)) ? [what] : [])),
  );
  return found.flat();
}
