import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { createAuthority, createServer as createServingPair } from '../../lab/controlplane/certificates.ts';
import type { TrustedIssuer } from '../../src/api/trusted-issuer.ts';
import type { AuditSink } from '../../src/audit/sink.ts';
import { credentialHash } from '../../src/credentials/keys/credential-hash.ts';
import { noSitePolicy } from '../../src/credentials/site-policy.ts';
import { RequestAudits } from '../../src/gateway/audit/request-audits.ts';
import { Endpoints } from '../../src/gateway/endpoints/endpoints.ts';
import type { EndpointServices, PublicDocument } from '../../src/gateway/endpoints/shared/endpoint.ts';
import { HeldBytes } from '../../src/gateway/endpoints/shared/held-bytes.ts';
import { Quota } from '../../src/gateway/endpoints/shared/quota.ts';
import { EntryPermissions } from '../../src/gateway/gate/entry-permissions.ts';
import { Misses } from '../../src/gateway/gate/misses.ts';
import { OpenRequests } from '../../src/gateway/gate/open-requests.ts';
import { askAsUser, Questions } from '../../src/gateway/gate/questions.ts';
import { CredentialRecords } from '../../src/gateway/index/credential-records.ts';
import { RecentChanges } from '../../src/gateway/index/recent-changes.ts';
import { TargetRecords } from '../../src/gateway/index/target-records.ts';
import type { Refused, Verdict } from '../../src/gateway/index/verdict.ts';
import { heldBytesLimits } from '../../src/gateway/limits.ts';
import { openUpstreamPools } from '../../src/gateway/proxy/http/upstream-pool.ts';
import type { FoundTarget } from '../../src/gateway/proxy/targets.ts';
import { ApiServerUpstream, type UpstreamLimits } from '../../src/gateway/proxy/upstream.ts';
import { RequestHandler } from '../../src/gateway/request-handler.ts';
import type { ServingCertificate } from '../../src/gateway/server/certificate.ts';
import { GatewayServer, type ProxyOptions, type ServerLimits } from '../../src/gateway/server/server.ts';
import { LargeBodies, largeBodyLimits } from '../../src/gateway/turns/large-bodies.ts';
import { MainThread } from '../../src/gateway/turns/main-thread.ts';
import { YAMLReader, yamlLimits } from '../../src/gateway/yaml/yaml-reader.ts';
import {
  type ClientIdentity,
  type IdentitySource,
  makeIdentity,
} from '../../src/kube/client/client-identity.ts';
import { ConnectionSet } from '../../src/kube/client/connections.ts';
import { impersonationHeaders } from '../../src/kube/client/impersonation.ts';
import { type Clock, systemClock } from '../../src/kube/clock.ts';
import { silentLogger } from '../../src/logger.ts';
import { compileScope } from '../../src/scope/gate/compile-scope.ts';
import type { RequestTarget } from '../../src/scope/request-path.ts';
import { GatewayMetrics } from '../../src/telemetry/metrics/gateway.ts';
import { liveRecord } from './credential-object.ts';
import { projectsByName } from './projects.ts';
import { rawExchange } from './raw-exchange.ts';

/** Handles each connection to the server behind the gateway, once its first bytes are there. */
export type Behaviour = (socket: Socket, request: string) => unknown;

export interface StageOptions {
  readonly basePath?: string;
  /** Of the page for people. Absent: there is none. */
  readonly pageURL?: string;
  readonly maxShort?: number;
  readonly maxLong?: number;
  readonly maxShortOfUser?: number;
  readonly maxLongOfUser?: number;
  /** To the target. */
  readonly connections?: number;
  readonly longConnections?: number;
  readonly maxWaiting?: number;
  readonly maxWaitMs?: number;
  /** Who is asked who may enter, in place of `mayEnter`. */
  readonly platform?: Parameters<typeof askAsUser>[0];
  /** To the platform at once. */
  readonly questions?: number;
  readonly maxStallMs?: number;
  /** By which a request stands still, or is late. */
  readonly clock?: Clock;
  readonly sessionMaxMs?: number;
  readonly maxStayMs?: number;
  /** With TLS in front. */
  readonly isSecure?: boolean;
  readonly clientConnections?: number;
  readonly strangersPerAddress?: number;
  readonly missesPerAddress?: number;
  readonly proxies?: ProxyOptions;
  readonly projectNamespacePrefix?: string;
  readonly trustedIssuers?: readonly TrustedIssuer[];
  /** Where lines about requests go. */
  readonly audit?: AuditSink;
  /** The services that the endpoints under test use. */
  readonly services?: Partial<EndpointServices>;
}

/** A verdict for a user; with a scope only what the scope allows. */
export function verdictFor(scope?: Record<string, unknown>, user = 'alice'): Verdict {
  return {
    record: liveRecord(),
    ancestors: [],
    identity: { kind: 'user', user, groups: [] },
    end: Number.POSITIVE_INFINITY,
    isLimited: scope !== undefined,
    gates: scope === undefined ? [] : [compileScope(scope, projectsByName)],
    scopes: JSON.stringify(scope) ?? '',
    gateOwners: ['OwnedAccessKey "ci"'],
    impersonation: impersonationHeaders({ user, groups: ['dev'] }),
  };
}

/** Everything of a gateway but the index, between a raw socket on each side. Close it. */
export async function gatewayStage(behaviour: Behaviour, options: StageOptions = {}) {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const origin = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      seen.push(chunk.toString('latin1'));
      behaviour(socket, chunk.toString('latin1'));
    });
  });
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  const state = {
    verdicts: new Map<string, Verdict | Refused>(),
    problem: undefined as string | undefined,
    tokens: ['one'],
    mayEnter: true,
    /** Of the cluster. */
    uid: 'first',
    /** The platform, when it is asked who may enter. */
    isAway: false,
    asked: 0,
    /** How many requests counted as a use of their credential. */
    used: 0,
    /** The document that the operator has published. */
    published: undefined as PublicDocument | undefined,
  };
  const answerEntry = async () => {
    state.asked += 1;
    if (state.isAway) throw new Error('the API server is away');
    return { status: { allowed: state.mayEnter } };
  };
  const records = new CredentialRecords();
  const index = {
    records,
    find: (hash: string) => state.verdicts.get(hash),
    problem: () => state.problem,
    used: () => {
      state.used += 1;
    },
  };
  const questions = {
    isAllowed: askAsUser(options.platform ?? { as: () => ({ create: answerEntry }) as never }),
    ...{ clock: systemClock, max: options.questions ?? 8, maxWaiting: 100, maxWaitMs: 2_000 },
  };
  const permissions = new EntryPermissions({
    entering: new Questions({ ...questions, maxWaiting: options.maxWaiting ?? 100 }),
    staying: new Questions(questions),
    clock: systemClock,
    random: Math.random,
    log: silentLogger,
    maxStayMs: options.maxStayMs ?? 45_000,
    maxConnections: 100,
  });
  const limits = upstreamLimits(options);
  const connections = new ConnectionSet({
    ...limits,
    watchConnections: limits.longConnections,
    openPool: openUpstreamPools(systemClock),
  });
  const open = new OpenRequests({
    ...index,
    findTarget: (target) => targets.find(target),
    projectsVersion: () => 0,
    permissions,
    clock: systemClock,
    limits: {
      ofCredential: { short: options.maxShort ?? 100, long: options.maxLong ?? 100 },
      ofUser: { short: options.maxShortOfUser ?? 400, long: options.maxLongOfUser ?? 400 },
    },
  });
  const { port } = origin.address() as AddressInfo;
  const platform = new ApiServerUpstream({
    identity: identityOf(port, state.tokens),
    ...{ connections, limits },
    clock: systemClock,
  });
  const targets = {
    find: (target: RequestTarget): FoundTarget | undefined => {
      if (target.kind === 'management') return { uids: '', upstream: platform, groups: [], isPlatform: true };
      if (target.kind === 'space') {
        const entry = { verb: 'use', resource: 'spaceinstances', namespace: 'p-p', name: target.space };
        return { uids: '', upstream: platform, groups: [], isPlatform: false, namespace: 'shop', entry };
      }
      if (target.kind !== 'cluster') return undefined;
      const entry = { verb: 'use', resource: 'clusters', namespace: '', name: target.cluster };
      const isPlatform = target.cluster === 'platform';
      return { uids: state.uid, upstream: platform, groups: ['users'], isPlatform, entry };
    },
    entryOf: () => ({ verb: 'use', resource: 'virtualclusterinstances', namespace: 'p-p', name: 'v' }),
  };
  const registry = new Registry();
  const metrics = new GatewayMetrics(registry);
  const settings = settingsOf(options);
  const misses = missesOf(options);
  const { audit: sink } = options;
  const withHash = (hash: string) => records.withHash(hash);
  const clientAddress = (request: IncomingMessage) => server.clientAddress(request);
  const audits = sink && new RequestAudits({ sink, clock: systemClock, withHash, clientAddress });
  const handler = new RequestHandler({
    settings,
    clock: options.clock ?? systemClock,
    log: silentLogger,
    metrics,
    index,
    open,
    targets,
    permissions,
    misses,
    audits,
    mainThread: new MainThread({ clock: systemClock, isAlone: (user) => open.isAlone(user) }),
    largeBodies: new LargeBodies({ clock: systemClock, ...largeBodyLimits }),
    endpoints: new Endpoints({
      ...servicesOf(index, records),
      platform,
      settings,
      misses,
      permissions,
      followingPermissions: permissions,
      issuer: { find: () => state.published },
      issuerReads: missesOf(options),
      clientAddress,
      sitePolicy: () => noSitePolicy,
      targetRecords: new TargetRecords('p-'),
      ...options.services,
    } as unknown as EndpointServices),
    onAuthenticated: (socket, user) => server.authenticated(socket, user),
    clientAddress,
  });
  const server: GatewayServer = new GatewayServer({
    address: { host: '127.0.0.1', port: 0 },
    certificate: options.isSecure === true ? selfSigned() : undefined,
    limits: serverLimits(options),
    clock: systemClock,
    onConnectionClosed: () => undefined,
    onRefused: (error) => metrics.refusals.inc({ error }),
    ...(audits && { onRequestRefused: audits.refused }),
    proxies: options.proxies,
    onRequest: (request, response) => handler.handle(request, response),
    mayBecomeTunnel: (request) => handler.mayBecomeTunnel(request),
  });
  const address = await server.listen();
  return {
    seen,
    state,
    records,
    open,
    port: address.port,
    isSecure: options.isSecure === true,
    /** The credential that `alice` holds is known from now on. */
    know: (credential: string, verdict: Verdict | Refused = verdictFor()) =>
      state.verdicts.set(credentialHash(credential), verdict),
    metrics: async () => await registry.metrics(),
    send: async (text: string) => await rawExchange(address.port, text),
    close: async () => {
      await server.close(0);
      for (const socket of sockets) socket.destroy();
      await connections.close();
      await new Promise((resolve) => origin.close(resolve));
    },
  };
}

function servicesOf(index: EndpointServices['index'], records: CredentialRecords): Partial<EndpointServices> {
  return {
    clock: systemClock,
    log: silentLogger,
    index,
    quota: new Quota({ records, now: () => systemClock.now(), limits: { OwnedAccessKey: 3 } }),
    held: new HeldBytes(heldBytesLimits),
    yaml: new YAMLReader({ clock: systemClock, limits: yamlLimits, isAlone: () => true }),
    changes: new RecentChanges(records, () => '1'),
    removals: { begin: () => () => undefined, remove: unused, removeWhenItComes: unused },
  };
}

const unused = async (): Promise<void> => undefined;

export type GatewayStage = Awaited<ReturnType<typeof gatewayStage>>;

const settingsOf = (options: StageOptions) => ({
  baseURL: `https://latchkey.example.com${options.basePath ?? ''}`,
  stallTimeoutMs: options.maxStallMs ?? 60_000,
  sessionMaxMs: options.sessionMaxMs ?? 0,
  projectNamespacePrefix: options.projectNamespacePrefix ?? 'p-',
  trustedIssuers: options.trustedIssuers ?? [],
  pageURL: options.pageURL,
});

const upstreamLimits = (options: StageOptions): UpstreamLimits => ({
  connections: options.connections ?? 8,
  longConnections: options.longConnections ?? 8,
  maxWaiting: options.maxWaiting ?? 100,
  maxWaitMs: options.maxWaitMs ?? 2_000,
});

const serverLimits = ({ clientConnections = 100, strangersPerAddress = 0 }: StageOptions): ServerLimits => ({
  ...{ headerBytes: 16_384, headerFields: 100, urlBytes: 8_192, headMs: 30_000, idleMs: 30_000 },
  ...{ connections: clientConnections, strangersPerAddress, strangerGraceMs: 50 },
});

const missesOf = ({ missesPerAddress: perMinute = 0 }: StageOptions): Misses =>
  new Misses({ clock: systemClock, perMinute, maxAddresses: 100 });

function selfSigned(): ServingCertificate {
  const { certificate: cert, key } = createServingPair(createAuthority('test'), ['127.0.0.1']);
  return { cert, key };
}

/** The first token, and after a refusal the next one. */
function identityOf(port: number, tokens: readonly string[]): IdentitySource {
  const server = new URL(`http://127.0.0.1:${port}`);
  const made: ClientIdentity[] = [];
  let used = 0;
  const current = (): ClientIdentity => {
    made[used] ??= makeIdentity(server, {}, ['authorization', `Bearer ${tokens[used]}`]);
    return made[used] as ClientIdentity;
  };
  return {
    current,
    refreshed: async (refused) => {
      if (refused === current() && used + 1 < tokens.length) used += 1;
      return refused !== current();
    },
  };
}
