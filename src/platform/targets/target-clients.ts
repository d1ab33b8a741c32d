import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { ownNamespaces } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { secrets } from '../../api/resources.ts';
import { ByteBudget } from '../../kube/client/byte-budget.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { makeIdentity, type TlsIdentity } from '../../kube/client/client-identity.ts';
import type { Clock } from '../../kube/clock.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { Logger } from '../../logger.ts';
import type { TargetAddresses } from './addresses.ts';
import {
  type AdminKubeConfig,
  isBearerToken,
  readAdminKubeConfig,
} from './admin-kubeconfig/admin-kube-config.ts';
import { chooseServer } from './dialled-server.ts';
import { addressProblem, serverRefused, type TargetProblem } from './target-problem.ts';
import type { KubeConfigSource, SecretEntry } from './target-record.ts';
import { createUntrustedClient, unusableAnswer } from './untrusted/untrusted-answers.ts';

export interface TargetSource {
  /** Of the object that names the Secret. */
  readonly uid: string;
  readonly secret: KubeConfigSource;
}

export interface OpenTarget {
  readonly client: KubeClient;
  readonly config: AdminKubeConfig;
}

export type OpenResult = { readonly target: OpenTarget } | { readonly problem: TargetProblem };

export interface TargetClientsOptions {
  /** The client of our own API server, for the Secrets. */
  readonly platform: Pick<KubeClient, 'get'>;
  readonly addresses: TargetAddresses;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly userAgent: string;
  /** As for {@link KubeClient}: nothing is written to a target without leading. */
  readonly writeGuard: () => void;
  /** Whether something is still to be revoked in the target of this UID that is reached by this. */
  readonly isOwed: (uid: string, config: AdminKubeConfig) => boolean;
}

/** Small, because there may be thousands of targets, and each of them may mean harm. */
const limits = {
  connections: 4,
  watchConnections: 4,
  maxWaiting: 100,
  timeoutMs: 5_000,
  retries: 2,
  // One object of 1.5 MiB in etcd, all its characters escaped: no one may hide behind it in a list, or keep it from
  // being changed or deleted, which is answered with all of it where it has a finalizer.
  maxObjectBytes: 16 * 2 ** 20,
  maxListBytes: 4 * 2 ** 20,
  maxSingleBytes: 16 * 2 ** 20,
} as const;

/**
 * Of large answers of all targets, which take turns. Reading one costs memory, and time in which nothing else is done: a dozen
 * hostile targets would otherwise have the operator killed, and hold up the credentials of everyone.
 */
const largeAnswers = { bytesPerSecond: 4 * 2 ** 20, maxBurst: 16 * 2 ** 20 } as const;

/** The ways into a target. */
interface TargetMemory {
  /** Where its Secret is, or was. */
  readonly namespace: string;
  /** The findings before and since, the latest first, one for each authority. */
  readonly former: readonly AdminKubeConfig[];
}

/** The knowledge of one target. */
class TargetState implements TargetMemory {
  readonly namespace: string;
  former: readonly AdminKubeConfig[];
  /** Opens follow one another, so that an old answer of the API server never replaces a newer one. */
  turn: Promise<unknown> = Promise.resolve();
  /** The hash of the document, or why there is none. */
  content: string | undefined;
  result: OpenResult | undefined;
  known: AdminKubeConfig | undefined;

  constructor({ namespace, former }: TargetMemory) {
    this.namespace = namespace;
    this.former = former;
  }
}

/** Authorities of one target that are remembered. */
const maxFormer = 4;
/** Forgotten targets of one namespace. Without a bound, a tenant could fill the memory with instances made and deleted. */
const maxKept = 200;

/**
 * The clients of targets, by the administrator kubeconfigs in Secrets. A client is kept until its Secret holds something
 * else or the target is forgotten; nothing else bounds their number.
 */
export class TargetClients {
  readonly #options: TargetClientsOptions;
  readonly #states = new Map<string, TargetState>();
  /** Of targets that are gone, for what is still to be revoked in them; nothing else may be done with it. */
  readonly #kept = new Map<string, TargetMemory>();
  readonly #listeners = new Set<(uid: string) => void>();
  readonly #budget: ByteBudget;
  #closed = false;

  constructor(options: TargetClientsOptions) {
    this.#options = options;
    this.#budget = new ByteBudget({ clock: options.clock, ...largeAnswers });
  }

  /**
   * Reads the Secret. The same content gives the same client; other content closes the former one, and its
   * requests under way end. Rejects when our own API server refuses or cannot be reached. The address of the target is
   * refused here when it is no name, and at the first request otherwise.
   */
  open(source: TargetSource): Promise<OpenResult> {
    if (this.#closed) return Promise.reject(new Error('the clients of targets are closed'));
    const { namespace } = source.secret;
    const state =
      this.#states.get(source.uid) ??
      new TargetState(this.#kept.get(source.uid) ?? { namespace, former: [] });
    this.#states.set(source.uid, state);
    const opening = state.turn.then(() => this.#open(source, state));
    state.turn = opening.catch(() => undefined);
    return opening;
  }

  /** The findings of the last successful open, also while its Secret is gone or refused. */
  known(uid: string): AdminKubeConfig | undefined {
    return this.#states.get(uid)?.known;
  }

  /**
   * The target by what a former open found; the caller closes its client. It serves to revoke something in a target whose Secret
   * is gone already, as in a namespace that is being deleted, or leads elsewhere by now. `isMeant`: by default the latest.
   */
  remembered(
    uid: string,
    isMeant: (config: AdminKubeConfig) => boolean = () => true,
  ): OpenTarget | undefined {
    const config = this.#memoryOf(uid)?.former.find(isMeant);
    return config === undefined || this.#closed ? undefined : { client: this.#client(config), config };
  }

  /** The listener is called with the UID when an open found other content than the one before, or none any more. */
  subscribe(listener: (uid: string) => void): void {
    this.#listeners.add(listener);
  }

  /**
   * A client of the same target with the identity of the token; the caller closes it. Throws what
   * {@link targetProblemOf} knows when the text cannot be a token: it may come from the target.
   */
  as(config: AdminKubeConfig, token: string): KubeClient {
    if (!isBearerToken(token))
      throw unusableAnswer({ verb: 'POST', path: 'serviceaccounts/token' }, 'no bearer token');
    const { server, ca } = config;
    return this.#client({ server, ca, token });
  }

  /**
   * Closes the client of a target that is gone. What leads into it stays as long as something is to be revoked there: its
   * Secret is often gone as well, and then nothing else ends the rights of those who hold a certificate.
   */
  forget(uid: string): void {
    const state = this.#states.get(uid);
    this.#keep(uid, this.#memoryOf(uid));
    this.#states.delete(uid);
    if (state !== undefined) void closeClient(state);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const states = [...this.#states.values()];
    this.#states.clear();
    this.#kept.clear();
    await Promise.all(states.map(closeClient));
  }

  #memoryOf(uid: string): TargetMemory | undefined {
    return this.#states.get(uid) ?? this.#kept.get(uid);
  }

  #keep(uid: string, memory: TargetMemory | undefined): void {
    this.#kept.delete(uid);
    const former = memory?.former.filter((config) => this.#options.isOwed(uid, config)) ?? [];
    if (memory === undefined || former.length === 0) return;
    const { namespace } = memory;
    const neighbours = [...this.#kept].filter(([, other]) => other.namespace === namespace);
    // The virtual cluster of the oldest is the one that is most likely gone as well.
    for (const [oldest] of neighbours.slice(0, Math.max(0, neighbours.length + 1 - maxKept)))
      this.#kept.delete(oldest);
    this.#kept.set(uid, { namespace, former });
  }

  async #open({ uid, secret }: TargetSource, state: TargetState): Promise<OpenResult> {
    const found = await this.#read(secret);
    if (this.#states.get(uid) !== state) throw new Error('the target was forgotten while it was opened');
    const content = hashContent(found, secret);
    if (state.result !== undefined && state.content === content) return state.result;
    const isChange = state.result !== undefined;
    void closeClient(state);
    state.content = content;
    state.result = found instanceof Uint8Array ? this.#openDocument(found, secret) : { problem: found };
    if ('target' in state.result) remember(state, state.result.target.config);
    if (isChange) this.#onChange(uid);
    return state.result;
  }

  #onChange(uid: string): void {
    this.#options.log.info({ uid }, 'the kubeconfig of a target changed');
    for (const listener of this.#listeners) listener(uid);
  }

  async #read(entry: SecretEntry): Promise<Uint8Array | TargetProblem> {
    const { namespace, name, key } = entry;
    // The token in a Secret of ours would go to the server that stands beside it.
    if (ownNamespaces.includes(namespace)) return ownSecret;
    const { platform } = this.#options;
    const secret = await platform.get<Secret>(secrets, { namespace, name }).catch(ignoreNotFound);
    if (secret === undefined) return noSecret(entry);
    const { data = {} } = secret;
    const value = Object.entries(data).find(([present]) => present === key)?.[1];
    return value ? Buffer.from(value, 'base64') : noEntry(entry, data);
  }

  #openDocument(document: Uint8Array, source: KubeConfigSource): OpenResult {
    const reading = readAdminKubeConfig(document);
    if ('refusal' in reading)
      return { problem: { reason: reasons.kubeConfigRefused, message: reading.refusal } };
    const server = chooseServer(reading.config.server, source);
    if (server === undefined) return { problem: serverRefused };
    const config = { ...reading.config, server };
    const host = config.server.hostname.replace(/^\[|\]$/g, '');
    const problem = isIP(host) === 0 ? undefined : this.#options.addresses.problem(host);
    if (problem !== undefined) return { problem: addressProblem(problem) };
    return { target: { client: this.#client(config), config } };
  }

  #client(config: AdminKubeConfig): KubeClient {
    const { addresses, clock, random, userAgent, writeGuard } = this.#options;
    const headers = config.token === undefined ? [] : ['authorization', `Bearer ${config.token}`];
    const identity = makeIdentity(config.server, tlsOf(config), headers);
    const { lookup } = addresses;
    const own = { identity, lookup, budget: this.#budget.lane() };
    return createUntrustedClient({ ...limits, ...own, clock, random, userAgent, writeGuard });
  }
}

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const ownSecret: TargetProblem = {
  reason: reasons.kubeConfigRefused,
  message: `The administrator kubeconfig must not be in ${ownNamespaces.join(' or ')}, where Latchkey keeps its own Secrets: put it into another namespace, and make the object again.`,
};

function noSecret({ namespace, name, key }: SecretEntry): TargetProblem {
  const message = `The Secret "${name}" in the namespace "${namespace}" does not exist: create it with the administrator kubeconfig as entry "${key}".`;
  return { reason: reasons.kubeConfigNotFound, message };
}

/** As vCluster, Cluster API, Kamaji and people call it. No other name is ever repeated. */
const usualEntries = ['config', 'value', 'admin.conf', 'super-admin.conf', 'kubeconfig', 'kubeconfig.yaml'];

function noEntry(
  { namespace, name, key }: SecretEntry,
  data: Readonly<Record<string, string>>,
): TargetProblem {
  const other = usualEntries.find((entry) => Object.hasOwn(data, entry) && data[entry] !== '');
  const fix =
    other === undefined
      ? 'add the administrator kubeconfig under this name.'
      : `it has "${other}". Set spec.kubeConfigSecretRef.key to "${other}" when you create the object; delete this one first.`;
  const message = `The Secret "${name}" in the namespace "${namespace}" has no entry "${key}": ${fix}`;
  return { reason: reasons.kubeConfigNotFound, message };
}

/** `rejectUnauthorized` is written out, because an environment variable would change the default. */
function tlsOf({ ca, certificate, key }: AdminKubeConfig): TlsIdentity {
  const pair = certificate === undefined || key === undefined ? {} : { cert: certificate, key };
  return { ca, rejectUnauthorized: true, ...pair };
}

function hashContent(found: Uint8Array | TargetProblem, { server, service }: KubeConfigSource): string {
  if (!(found instanceof Uint8Array)) return found.message;
  const choice = JSON.stringify([server, service]);
  return createHash('sha256').update(choice).update(found).digest('hex');
}

function remember(state: TargetState, config: AdminKubeConfig): void {
  const others = state.former.filter(({ ca }) => ca !== config.ca);
  state.known = config;
  state.former = [config, ...others].slice(0, maxFormer);
}

/** Never rejects: what was being sent fails by itself. */
async function closeClient({ result }: TargetState): Promise<void> {
  if (result !== undefined && 'target' in result) await result.target.client.close().catch(() => undefined);
}
