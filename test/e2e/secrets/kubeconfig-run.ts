import { randomBytes } from 'node:crypto';
import { type Api, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import type { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations, labels } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { namespaces, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { allowUse } from '../targets/target-scenario.ts';
import { accessSecretOf, makeInstance } from '../targets/target-world.ts';
import type { KnownSecrets } from './known-secrets.ts';

const namespace = 'p-secrets';
const fieldOf = (document: string, name: string): string =>
  new RegExp(`${name}: "?([\\w.+/=-]+)`).exec(document)?.[1] ?? '';
const inStatus = ({ metadata }: Stored): string =>
  `VirtualClusterInstanceKubeConfig/${namespace}/${metadata.name} status.kubeConfig`;

/** Everything that can be done with kubeconfigs and targets, each secret of it noted with the places that it is meant for. */
export class KubeConfigRun {
  readonly #world: World;
  readonly #admin: Api;
  readonly #cluster: VirtualCluster;
  readonly #known: KnownSecrets;

  constructor(world: World, cluster: VirtualCluster, known: KnownSecrets) {
    this.#world = world;
    this.#admin = world.admin;
    this.#cluster = cluster;
    this.#known = known;
  }

  async whole(): Promise<void> {
    const project = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { [labels.project]: 'secrets' } },
    };
    await this.#admin.createObject(namespaces, project);
    await allowUse(this.#world, 'platform-admin');
    const instance = await this.#target();
    await this.#kubeConfigs(
      instance,
      { clientCert: true, server: 'https://vc.example.com' },
      'client-key-data',
    );
    await this.#kubeConfigs(instance, {}, 'token');
    await this.#refusedTarget();
  }

  /** The administrator's key, and the token that the operator got with it. */
  async #target(): Promise<Stored> {
    const kubeConfig = await this.#cluster.adminKubeConfig();
    const { instance, secret, key } = await makeInstance(this.#world, this.#cluster, {
      namespace,
      kubeConfig,
    });
    await this.#admin.untilReady(instance, { timeoutMs: 90_000 });
    const place = `Secret/${namespace}/${secret.metadata.name} data.${key}`;
    this.#add('the key of an administrator', fieldOf(kubeConfig, 'client-key-data'), [place]);
    const access = accessSecretOf(instance);
    const token = entryOf(await this.#admin.get(access), 'token');
    this.#known.add('the token of an impersonator', token, [
      `Secret/${access.metadata.namespace}/${access.metadata.name} data.token`,
    ]);
    return instance;
  }

  async #kubeConfigs(instance: Stored, spec: object, field: string): Promise<void> {
    const title = `the ${field} of a kubeconfig`;
    const first = await this.#make(instance, spec);
    this.#add(`${title} before its rotation`, fieldOf(first.status.kubeConfig, field));
    await this.#admin.annotate(first, { [annotations.rotate]: 'now' });
    const rotated = await this.#admin.until(first, 'rotated', ({ status }) => status.serial === 2);
    this.#add(title, fieldOf(rotated.status.kubeConfig, field), [inStatus(first)]);
    const name = this.#world.name('secret');
    await this.#make(instance, { ...spec, secretRef: { name } });
    const document = entryOf(await this.#admin.get(secretAt(namespace, name)), 'config');
    this.#add(`${title} in a Secret`, fieldOf(document, field), [`Secret/${namespace}/${name} data.config`]);
    const deleted = await this.#make(instance, spec);
    this.#add(`${title} that was deleted`, fieldOf(deleted.status.kubeConfig, field));
    await this.#admin.delete(deleted);
    await this.#admin.untilGone(deleted);
  }

  /** Makes a target that is refused: nothing of it is repeated anywhere, nor are the commands that it would have run. */
  async #refusedTarget(): Promise<void> {
    const command = `/bin/${randomBytes(24).toString('hex')}`;
    const kubeConfig = (await this.#cluster.adminKubeConfig()).replace(
      /client-certificate-data: .*/,
      `exec: { apiVersion: client.authentication.k8s.io/v1, command: ${command} }`,
    );
    const { instance, secret, key } = await makeInstance(this.#world, this.#cluster, {
      namespace,
      kubeConfig,
    });
    await this.#admin.untilRefused(instance, reasons.kubeConfigRefused);
    await this.#admin.untilEvent(instance, reasons.kubeConfigRefused);
    const place = `Secret/${namespace}/${secret.metadata.name} data.${key}`;
    this.#known.add('the command in an administrator kubeconfig', command, [place]);
  }

  async #make(instance: Stored, spec: object): Promise<Stored> {
    const virtualClusterInstance = instance.metadata.name;
    const metadata = { name: this.#world.name('kubeconfig'), namespace };
    const given = { virtualClusterInstance, ...spec };
    const made = await this.#admin.create(virtualClusterInstanceKubeConfigs, given, metadata);
    return await this.#admin.untilReady(made);
  }

  /** Of a token the signature, of a key in base64 of PEM what follows its constant head. */
  #add(title: string, value: string, meantFor: readonly string[] = []): void {
    const secret = value.split('.')[2] ?? value.slice(80, 160);
    this.#known.add(title, secret, meantFor);
  }
}
