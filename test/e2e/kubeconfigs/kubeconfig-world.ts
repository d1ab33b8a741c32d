import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { type Api, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { type Manifest, uniqueName } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import type { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { group, labels } from '../../../src/api/names.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  namespaces,
  type Resource,
  roleBindings,
  roles,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { isAllowed } from '../../../src/platform/access-review.ts';
import { protobufType } from '../../builders/protobuf-binding.ts';
import { type InstanceOptions, type Made, makeInstance } from '../targets/target-world.ts';

export interface ProjectOptions extends InstanceOptions {
  /** Host of the ingress; `none`: there is none. Default: that of the virtual cluster's API server. */
  readonly host?: string;
  /** Verbs of `platform-admin` and `alice` on instances. Default: both verbs. */
  readonly verbs?: readonly string[];
}

/** The namespace of a project with one instance in it. */
export class Project {
  readonly world: World;
  readonly cluster: VirtualCluster;
  readonly made: Made;
  readonly name: string;

  static async make(world: World, cluster: VirtualCluster, options: ProjectOptions = {}): Promise<Project> {
    const name = uniqueName('red');
    const namespace = `p-${name}`;
    const metadata = { name: namespace, labels: { [labels.project]: name } };
    await world.admin.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
    await grant(world, namespace, options.verbs ?? ['use', 'use-as-admin']);
    const { host = new URL(cluster.plane.server).host, spec = {} } = options;
    const access = host === 'none' ? {} : { accessPoint: { ingress: { enabled: true, host } } };
    const made = await makeInstance(world, cluster, { ...options, namespace, spec: { ...access, ...spec } });
    return new Project({ world, cluster, made, name });
  }

  /** A project whose instance is Ready. */
  static async ready(world: World, cluster: VirtualCluster, options: ProjectOptions = {}): Promise<Project> {
    const project = await Project.make(world, cluster, options);
    await world.admin.untilReady(project.instance);
    return project;
  }

  private constructor(parts: { world: World; cluster: VirtualCluster; made: Made; name: string }) {
    this.world = parts.world;
    this.cluster = parts.cluster;
    this.made = parts.made;
    this.name = parts.name;
  }

  get namespace(): string {
    return `p-${this.name}`;
  }

  get instance(): Stored {
    return this.made.instance;
  }

  /** Makes a kubeconfig object; with a client certificate unless `spec` says otherwise. */
  async create(
    spec: object = {},
    { api = this.world.admin, ...metadata }: Partial<Manifest['metadata']> & { api?: Api } = {},
  ): Promise<Stored> {
    return await api.create(
      virtualClusterInstanceKubeConfigs,
      { clientCert: true, virtualClusterInstance: this.instance.metadata.name, ...spec },
      { name: uniqueName('kc'), namespace: this.namespace, ...metadata },
    );
  }

  /** The same, when it is Ready. */
  async issued(spec: object = {}, metadata: Partial<Manifest['metadata']> = {}): Promise<Stored> {
    return await this.world.admin.untilReady(await this.create(spec, metadata));
  }

  /** Changes what `platform-admin` and `alice` may do with instances, and waits until the API server judges by it. */
  async grant(verbs: readonly string[]): Promise<void> {
    await grant(this.world, this.namespace, verbs);
    const { client } = this.world.admin;
    const user = { user: 'platform-admin', groups: [] };
    const { namespace, instance } = this;
    for (const verb of ['use', 'use-as-admin']) {
      const question = { verb, resource: 'virtualclusterinstances', namespace, name: instance.metadata.name };
      const acts = async () => (await isAllowed(client, user, question)) === verbs.includes(verb);
      await until(`the grant of ${verb} acts`, acts);
    }
  }

  /** The document in the Secret that `spec.secretRef` names. */
  async documentIn(secret: string): Promise<string> {
    return entryOf(await this.world.admin.get(secretAt(this.namespace, secret)), 'config');
  }
}

/** `platform-admin` loses its group system:masters in a credential, so it needs the verbs as everybody does. */
async function grant({ admin }: World, namespace: string, verbs: readonly string[]): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const key = { namespace, name: 'users' };
  const rule = { apiGroups: [group], resources: ['virtualclusterinstances'], verbs };
  const subjects = ['platform-admin', 'alice'].map((name) => ({ apiGroup, kind: 'User', name }));
  const objects = [
    [roles, { rules: verbs.length === 0 ? [] : [rule] }],
    [roleBindings, { roleRef: { apiGroup, kind: 'Role', name: key.name }, subjects }],
  ] as const;
  for (const [resource, content] of objects) {
    const object = { apiVersion: `${apiGroup}/v1`, kind: resource.kind, metadata: key, ...content };
    await admin.client.apply(resource, key, object, { fieldManager: 'test' });
  }
}

/** The content of a kubeconfig. */
export interface Reading {
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly token?: string;
  readonly certificate?: X509Certificate;
  /** PEM. */
  readonly key?: string;
}

export function readingOf(document: string): Reading {
  const { clusters, users } = parse(document);
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  const text = (encoded: string) => Buffer.from(encoded, 'base64').toString();
  const ca = cluster['certificate-authority-data'];
  const certificate = user['client-certificate-data'];
  return {
    server: cluster.server,
    ...(ca === undefined ? {} : { ca: text(ca) }),
    ...(user.token === undefined ? {} : { token: user.token }),
    ...(certificate === undefined
      ? {}
      : { certificate: new X509Certificate(text(certificate)), key: text(user['client-key-data']) }),
  };
}

/** The signer of Kubernetes begins every life five minutes before the signature. */
export const backdate = 300;

/** Seconds from the signature to the end of the certificate. */
export function signedLifeOf({ certificate }: Reading): number {
  if (certificate === undefined) throw new TypeError('there is no certificate');
  const { validFromDate, validToDate } = certificate;
  return (validToDate.getTime() - validFromDate.getTime()) / 1_000 - backdate;
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Bytes are sent as protobuf. */
  readonly body?: object | Buffer;
}

/** The holder of a document with a client certificate, at the API server of the virtual cluster itself. */
export class Holder {
  readonly reading: Reading;
  readonly #server: string;
  readonly #agent: Agent;

  constructor(document: string, { plane }: VirtualCluster) {
    this.reading = readingOf(document);
    this.#server = plane.server;
    const { certificate, key = '' } = this.reading;
    const ca = Buffer.from(plane.caData, 'base64').toString();
    this.#agent = new Agent({ connect: { ca, cert: String(certificate), key } });
  }

  /** The status of the answer. */
  async call(path = '/api/v1/namespaces', { method = 'GET', body }: Call = {}): Promise<number> {
    const { statusCode, body: answer } = await request(new URL(path, this.#server), {
      dispatcher: this.#agent,
      method,
      ...(body === undefined ? {} : contentOf(body)),
    });
    await answer.dump();
    return statusCode;
  }

  /** Waits until the API server acts on what was bound. */
  async untilAllowed(): Promise<void> {
    await until('the certificate is bound', async () => (await this.call()) === 200);
  }

  /** Every answer of some time is a refusal, whatever else goes on. @returns the different answers. */
  async refusals(forMs = 700): Promise<ReadonlySet<number>> {
    const seen = new Set<number>();
    const end = performance.now() + forMs;
    while (performance.now() < end) {
      seen.add(await this.call());
      // Without it two cores would be busy with nothing but this.
      await delay(5);
    }
    return seen;
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}

function contentOf(body: object | Buffer) {
  return Buffer.isBuffer(body)
    ? { body, headers: { 'content-type': protobufType, accept: 'application/json' } }
    : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

interface Binding extends KubeObject {
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[];
}

/** Every binding and every signing request in a virtual cluster that has to do with this kubeconfig. */
export async function tracesOf(
  { metadata: { uid } }: { readonly metadata: { readonly uid: string } },
  cluster: VirtualCluster,
): Promise<readonly string[]> {
  const { client } = cluster.admin;
  const bindings = async (resource: Resource) =>
    (await client.list<Binding>(resource)).items
      .filter(({ subjects = [] }) => subjects.some(({ name }) => name.includes(uid)))
      .map(({ metadata }) => `${resource.kind} ${metadata.name.replace(uid, 'UID')}`);
  const { items } = await client.list<KubeObject>(certificateSigningRequests);
  const requests = items
    .filter(({ metadata }) => metadata.name.includes(uid))
    .map(({ metadata }) => `${certificateSigningRequests.kind} ${metadata.name.replace(uid, 'UID')}`);
  return [...(await bindings(clusterRoleBindings)), ...(await bindings(roleBindings)), ...requests];
}

/** A subject of a binding: the certificate with this serial, as user or as group. */
export const subjectOf = (object: Stored, kind: 'User' | 'Group', serial = object.status.serial) => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind,
  name: certificateSubject(object.metadata.uid, serial),
});

export interface Planted {
  readonly name?: string;
  /** In this namespace only. Default: in the whole cluster. */
  readonly namespace?: string;
  readonly subjects: readonly object[];
  readonly finalizers?: readonly string[];
  /** Name of the ClusterRole. Default: `cluster-admin`. */
  readonly role?: string;
}

/** A binding to a role, as somebody inside may make it. */
export function bindingOf({
  name = uniqueName('planted'),
  namespace,
  subjects,
  finalizers,
  role = 'cluster-admin',
}: Planted) {
  const apiGroup = 'rbac.authorization.k8s.io';
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(finalizers === undefined ? {} : { finalizers }),
    },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects,
  };
}

/** The path at which bindings of that scope are made. */
export const bindingsPath = (namespace?: string): string =>
  namespace === undefined
    ? '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
    : `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
