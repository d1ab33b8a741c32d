import { afterAll } from 'vitest';
import { Api } from '../../../lab/operator/api.ts';
import { type Applied, Kubectl } from '../../../lab/operator/kubectl.ts';
import type { World } from '../../../lab/operator/world.ts';
import { createKubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';

const rbac = 'rbac.authorization.k8s.io';
const everything = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

/** The accounts of controllers that apply what stands in Git, with the rights that their own manifests give them. */
const accounts = {
  'Argo CD': {
    namespace: 'argocd',
    name: 'argocd-application-controller',
    manager: 'argocd-controller',
    role: 'argocd-application-controller',
    marks: (kind: string, name: string) => ({
      annotations: { 'argocd.argoproj.io/tracking-id': `keys:management.platform.sh/${kind}:/${name}` },
      labels: { 'app.kubernetes.io/instance': 'keys' },
    }),
  },
  Flux: {
    namespace: 'flux-system',
    name: 'kustomize-controller',
    manager: 'kustomize-controller',
    role: 'cluster-admin',
    marks: () => ({
      annotations: {},
      labels: {
        'kustomize.toolkit.fluxcd.io/name': 'keys',
        'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
      },
    }),
  },
} as const;

export type ControllerName = keyof typeof accounts;

/** A controller that applies what stands in Git. */
export class Controller {
  readonly title: ControllerName;
  /** Its path. */
  readonly kubeconfig: string;
  readonly kubectl: Kubectl;
  readonly api: Api;

  /** Makes the account and its rights. Call it at the top of a file. */
  static async of(world: World, title: ControllerName): Promise<Controller> {
    const { namespace, name, role } = accounts[title];
    const binding = `gitops-tests-${name}`;
    const objects = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
      ...(role === 'cluster-admin'
        ? []
        : [{ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: role }, rules: everything }]),
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: binding },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'ServiceAccount', name, namespace }],
      },
    ];
    const admin = async (args: readonly string[], input = ''): Promise<string> => {
      const { stdout, stderr, exitCode } = await world.plane.kubectl(args, { input });
      if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
      return stdout.trim();
    };
    await admin(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    afterAll(async () => {
      await admin(['delete', 'clusterrolebinding', binding]);
      if (role !== 'cluster-admin') await admin(['delete', 'clusterrole', role]);
    });
    const token = await admin(['create', 'token', name, '--namespace', namespace, '--duration=6h']);
    const file = await world.plane.kubeconfigWithToken(`system:serviceaccount:${namespace}:${name}`, token);
    return new Controller(world, title, file);
  }

  private constructor(world: World, title: ControllerName, kubeconfig: string) {
    this.title = title;
    this.kubeconfig = kubeconfig;
    this.kubectl = new Kubectl(world, kubeconfig);
    const client = createKubeClient({
      kubeConfig: kubeConfigSource({ file: kubeconfig }),
      userAgent: 'latchkey-test',
    });
    afterAll(async () => await client.close());
    this.api = new Api(client, () => undefined);
  }

  get manager(): string {
    return accounts[this.title].manager;
  }

  get account(): string {
    const { namespace, name } = accounts[this.title];
    return `system:serviceaccount:${namespace}:${name}`;
  }

  /** The manifests as this controller sends them: with the marks by which it knows what is its own. */
  marked<Object extends Applied>(manifests: readonly Object[]): readonly Object[] {
    return manifests.map((manifest) => {
      const { metadata } = manifest as { metadata: { annotations?: object; labels?: object } };
      const { annotations, labels } = accounts[this.title].marks(manifest.kind, manifest.metadata.name);
      return {
        ...manifest,
        metadata: {
          ...manifest.metadata,
          annotations: { ...metadata.annotations, ...annotations },
          labels: { ...metadata.labels, ...labels },
        },
      };
    });
  }

  /** Flags of `kubectl apply` and `kubectl diff` for a sync as this controller makes it. Both force conflicts. */
  get flags(): readonly string[] {
    return ['--server-side', '--force-conflicts', `--field-manager=${this.manager}`];
  }
}

/** Syncs as it does when Git has changed, and at every turn otherwise. */
export async function sync(controller: Controller, manifests: readonly Applied[]): Promise<void> {
  await controller.kubectl.send('apply', controller.marked(manifests), ...controller.flags);
}

/** Returns what Git and the cluster differ in, as the controller sees it. */
export async function difference(controller: Controller, manifests: readonly Applied[]): Promise<string> {
  return await controller.kubectl.diff(controller.marked(manifests), ...controller.flags);
}
