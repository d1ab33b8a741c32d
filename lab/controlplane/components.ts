import { existsSync } from 'node:fs';
import { constants, cp, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  apiServerArgs,
  controllerManagerArgs,
  etcdArgs,
  etcdSocket,
  serviceAccountIssuer,
  twinEtcdSocket,
} from './arguments.ts';
import { createClient, type Identity } from './certificates.ts';
import type { ControlPlaneConnection } from './connection.ts';
import { type PreparedFiles, prepareFiles } from './files.ts';
import { FreezingProxy } from './freezing-proxy.ts';
import type { Guard, GuardedProcess } from './guard.ts';
import { base64, type KubeconfigTarget, writeKubeconfig } from './kubeconfig.ts';
import type { ControlPlaneOptions } from './options.ts';
import { freePort } from './ports.ts';
import { answerTo, type ProbeTarget, statusOf, untilReady } from './probe.ts';
import type { Binaries } from './versions.ts';

/** The controllers fill the default namespace last; once they have, they work. */
const controllerWork = {
  account: '/api/v1/namespaces/default/serviceaccounts/default',
  authority: '/api/v1/namespaces/default/configmaps/kube-root-ca.crt',
};

/** A second API server on the same etcd. */
export interface TwinApiServer {
  /** Path of a kubeconfig: user `platform-admin` in group `system:masters`. */
  readonly adminKubeconfig: string;
  /** Its way to etcd swallows everything from now on. */
  freeze(): void;
  /** Its open watches of etcd bring nothing more, and its requests go on: so behave an etcd and a network under load. */
  holdWatches(): void;
  thaw(): void;
}

interface Parts {
  readonly guard: Guard;
  readonly binaries: Binaries;
  readonly options: ControlPlaneOptions;
  readonly port: number;
  readonly prepared: PreparedFiles;
}

/** The processes of one control plane, on ports chosen once. */
export class Components {
  readonly #guard: Guard;
  readonly #binaries: Binaries;
  readonly #options: ControlPlaneOptions;
  readonly #port: number;
  readonly #prepared: PreparedFiles;
  readonly #admin: Identity;
  #etcd: GuardedProcess | undefined;
  #apiServer: GuardedProcess | undefined;
  #proxy: FreezingProxy | undefined;

  static async prepare(guard: Guard, binaries: Binaries, options: ControlPlaneOptions): Promise<Components> {
    const port = await (options.choosePort ?? freePort)();
    const prepared = await prepareFiles(guard.folder, options);
    if (options.etcdData !== undefined) await copyFolder(options.etcdData, prepared.files.etcdData);
    return new Components({ guard, binaries, options, port, prepared });
  }

  private constructor(parts: Parts) {
    this.#guard = parts.guard;
    this.#binaries = parts.binaries;
    this.#options = parts.options;
    this.#port = parts.port;
    this.#prepared = parts.prepared;
    this.#admin = createClient(parts.prepared.authority, {
      user: 'platform-admin',
      groups: ['system:masters'],
    });
  }

  async startAll(signal: AbortSignal): Promise<void> {
    await this.startEtcd(signal);
    await this.startApiServer(signal);
    await this.#startControllerManager(signal);
  }

  async startApiServer(signal: AbortSignal): Promise<void> {
    const place = { port: this.#port, etcd: etcdSocket };
    const args = apiServerArgs(this.#prepared.files, place, this.#options);
    this.#apiServer = await this.#run('kube-apiserver', args);
    await this.#untilServing(this.#apiServer, signal);
  }

  /** With an API server that runs it waits until that one is ready again. */
  async startEtcd(signal: AbortSignal): Promise<void> {
    this.#etcd = await this.#run('etcd', etcdArgs(this.#prepared.files, this.#options));
    // It listens; whether it also answers is part of the API server's readiness.
    await untilReady(this.#etcd, signal, async () => existsSync(this.#etcdSocket));
    if (this.#apiServer !== undefined) await this.#untilServing(this.#apiServer, signal);
  }

  /** Once for each control plane. */
  async startTwin(signal: AbortSignal): Promise<TwinApiServer> {
    const { files } = this.#prepared;
    const port = await (this.#options.choosePort ?? freePort)();
    const [from, to] = [twinEtcdSocket, etcdSocket].map((name) => path.join(files.folder, name));
    const proxy = await FreezingProxy.start(from as string, to as string);
    this.#proxy = proxy;
    const args = apiServerArgs(files, { port, etcd: twinEtcdSocket }, this.#options);
    const apiServer = await this.#run('kube-apiserver', args, 'kube-apiserver-twin');
    const target = { ...this.#kubeconfigTarget, server: `https://127.0.0.1:${port}` };
    const probed = { ...this.#target, server: target.server };
    await untilReady(apiServer, signal, async () => (await statusOf(probed, '/readyz')) === 200);
    const adminKubeconfig = await writeKubeconfig(target, 'platform-admin', { identity: this.#admin });
    return {
      adminKubeconfig,
      freeze: () => proxy.freeze(),
      holdWatches: () => proxy.holdWatches(),
      thaw: () => proxy.thaw(),
    };
  }

  async stop(): Promise<void> {
    await this.#guard.stop();
    await this.#proxy?.stop();
  }

  async stopApiServer(): Promise<void> {
    const apiServer = this.#apiServer;
    this.#apiServer = undefined;
    await kill(apiServer);
  }

  async stopEtcd(): Promise<void> {
    const etcd = this.#etcd;
    this.#etcd = undefined;
    await kill(etcd);
    // Where it is, something listens.
    await rm(this.#etcdSocket, { force: true });
  }

  async saveEtcdData(folder: string): Promise<void> {
    await this.stopApiServer();
    await this.stopEtcd();
    await copyFolder(this.#prepared.files.etcdData, folder);
  }

  tokenOf(user: string): string {
    const token = this.#prepared.tokens.get(user);
    if (token === undefined) throw new Error(`user "${user}" has no token: name it in the option "users"`);
    return token;
  }

  async connection(): Promise<ControlPlaneConnection> {
    const { folder, auditLog } = this.#prepared.files;
    const adminKubeconfig = await writeKubeconfig(this.#kubeconfigTarget, 'platform-admin', {
      identity: this.#admin,
    });
    return {
      ...this.#kubeconfigTarget,
      adminKubeconfig,
      binaries: this.#binaries,
      folder,
      etcdSocket: this.#etcdSocket,
      serviceAccountIssuer,
      ...(this.#options.auditPolicy === undefined ? {} : { auditLog }),
    };
  }

  get #target(): ProbeTarget {
    return { server: this.#server, authority: this.#prepared.authority, client: this.#admin };
  }

  get #etcdSocket(): string {
    return path.join(this.#prepared.files.folder, etcdSocket);
  }

  get #server(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get #kubeconfigTarget(): KubeconfigTarget {
    const caData = base64(this.#prepared.authority.certificate);
    return {
      name: this.#options.name ?? 'local',
      server: this.#server,
      caData,
      folder: this.#prepared.files.folder,
    };
  }

  async #untilServing(apiServer: GuardedProcess, signal: AbortSignal): Promise<void> {
    await untilReady(apiServer, signal, async () => (await statusOf(this.#target, '/readyz')) === 200);
  }

  async #startControllerManager(signal: AbortSignal): Promise<void> {
    const { authority, files } = this.#prepared;
    const user = 'system:kube-controller-manager';
    const kubeconfig = await writeKubeconfig(this.#kubeconfigTarget, user, {
      identity: createClient(authority, { user }),
    });
    const manager = await this.#run(
      'kube-controller-manager',
      controllerManagerArgs(files, kubeconfig, this.#options),
    );
    await untilReady(manager, signal, async () => {
      if ((await statusOf(this.#target, controllerWork.account)) !== 200) return false;
      const answer = await answerTo(this.#target, controllerWork.authority);
      // Data of another control plane names that one's authority, until the controller has been there.
      return answer?.status === 200 && JSON.parse(answer.text).data['ca.crt'] === authority.certificate;
    });
  }

  async #run(
    program: 'etcd' | 'kube-apiserver' | 'kube-controller-manager',
    args: string[],
    name: string = program,
  ): Promise<GuardedProcess> {
    // No one reads the data afterwards, so there is nothing to wait for at the end.
    return await this.#guard.run({
      name,
      command: this.#binaries[program],
      args,
      cwd: this.#guard.folder,
      graceSeconds: 0,
    });
  }
}

const copyFolder = async (from: string, to: string): Promise<void> =>
  await cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE });

/** It keeps nothing but what it had written. */
async function kill(component: GuardedProcess | undefined): Promise<void> {
  if (component === undefined) return;
  process.kill(component.pid, 'SIGKILL');
  await component.exited;
}
