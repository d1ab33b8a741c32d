import { createPublicKey, randomUUID } from 'node:crypto';
import type { Stored } from '../../../lab/operator/api.ts';
import type { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { adminDocument } from '../../builders/admin-kube-config.ts';
import { readCertificateRequest } from '../../builders/certificate-request.ts';
import { certificateOf, usages } from '../../builders/issued-certificate.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { Project } from './kubeconfig-world.ts';

const dayMs = 86_400_000;
const impersonator = 'system:serviceaccount:kube-system:latchkey-impersonator';

interface Kept {
  readonly [field: string]: unknown;
  readonly metadata: object;
}

/** A virtual cluster whose administrator answers as they like: as an API server does until `interfere` does otherwise. */
export class PlayedCluster {
  readonly server: FakeApiServer;
  /** Returns true when it has dealt with the exchange, or never will. */
  interfere: (exchange: Exchange) => boolean = () => false;
  /** Of each token that it gives, milliseconds. */
  tokenLifeMs = dayMs;
  /** Of each certificate that it signs. */
  certificateEnd = new Date(Date.now() + dayMs);
  readonly #kept = new Map<string, Kept>();

  static async start(): Promise<PlayedCluster> {
    return new PlayedCluster(await FakeApiServer.start());
  }

  private constructor(server: FakeApiServer) {
    this.server = server;
    server.script((exchange) => this.interfere(exchange) || this.#answer(exchange));
  }

  get kubeConfig(): string {
    const { url, authority } = this.server;
    return JSON.stringify(adminDocument({ server: url, authority, user: { token: 'admin' } }));
  }

  /** A project with an instance that leads here, Ready unless the options say otherwise. */
  async project(world: World, { isReady = true } = {}): Promise<Project> {
    const { host } = new URL(this.server.url);
    // It is asked for an administrator kubeconfig only where none is given.
    const noCluster = undefined as unknown as VirtualCluster;
    const options = { kubeConfig: this.kubeConfig, host };
    return isReady
      ? await Project.ready(world, noCluster, options)
      : await Project.make(world, noCluster, options);
  }

  /** Paths of the bindings of certificates that were issued for this object. */
  bindingsOf({ metadata: { uid } }: Stored): readonly string[] {
    return [...this.#kept.keys()].filter((path) => path.includes(`/clusterrolebindings/latchkey-${uid}-`));
  }

  #answer(exchange: Exchange): true {
    const { method, path } = exchange;
    if (path.endsWith('/token')) exchange.answer(201, { status: tokenStatus(this.tokenLifeMs) });
    else if (path === '/version') exchange.answer(200, { major: '1', minor: '36' });
    else if (path.endsWith('/selfsubjectreviews'))
      exchange.answer(201, { metadata: {}, status: { userInfo: { username: impersonator } } });
    else if (method === 'POST') this.#keep(exchange, `${path}/${nameIn(exchange)}`, 201);
    else if (method === 'PATCH' || method === 'PUT') this.#keep(exchange, path.replace(/\/approval$/, ''));
    else if (method === 'DELETE') this.#forget(exchange);
    else this.#read(exchange);
    return true;
  }

  #keep(exchange: Exchange, path: string, status = 200): void {
    const present = this.#kept.get(path);
    if (status === 201 && present !== undefined) return exchange.refuse(409, 'AlreadyExists');
    const uid = (present?.metadata as { uid?: string } | undefined)?.uid ?? randomUUID();
    const body = exchange.json() as Kept;
    const kept = { ...body, metadata: { ...body.metadata, uid, resourceVersion: '1' } };
    this.#kept.set(path, kept);
    exchange.answer(status, kept);
  }

  #forget(exchange: Exchange): void {
    if (this.#kept.delete(exchange.path)) exchange.answer(200, { kind: 'Status', status: 'Success' });
    else exchange.refuse(404, 'NotFound');
  }

  #read(exchange: Exchange): void {
    const { path } = exchange;
    const found = this.#kept.get(path);
    if (found !== undefined) exchange.answer(200, signed(found, this.certificateEnd));
    else if (/\/(clusterrolebindings|rolebindings|certificatesigningrequests)$/.test(path))
      exchange.answer(200, { kind: 'List', metadata: {}, items: this.#in(path) });
    else exchange.refuse(404, 'NotFound');
  }

  #in(collection: string): readonly Kept[] {
    return [...this.#kept].filter(([path]) => path.startsWith(`${collection}/`)).map(([, kept]) => kept);
  }
}

const nameIn = (exchange: Exchange): string =>
  (exchange.json() as { metadata: { name: string } }).metadata.name;

const tokenStatus = (lifeMs: number) => ({
  token: 'x'.repeat(40),
  expirationTimestamp: new Date(Date.now() + lifeMs).toISOString(),
});

function signed(kept: Kept, notAfter: Date): Kept {
  const { spec, status } = kept as { spec?: { request?: string }; status?: object };
  if (spec?.request === undefined || status === undefined) return kept;
  const { publicKey, subject } = readCertificateRequest(Buffer.from(spec.request, 'base64').toString());
  const pem = certificateOf({
    publicKey: createPublicKey({ key: publicKey, format: 'der', type: 'spki' }),
    subject: subject.flat().map(({ oid, text }) => [oid === '2.5.4.3' ? 'CN' : 'O', text] as const),
    notAfter,
    usages: [usages.client],
  });
  return { ...kept, status: { ...status, certificate: Buffer.from(pem).toString('base64') } };
}
