import type { IncomingMessage } from 'node:http';
import { byCredentialKind } from '../api/credential-kinds.ts';
import { virtualClusterInstanceKubeConfigs } from '../api/resources.ts';
import type { AuditSink } from '../audit/sink.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { IdentitySource } from '../kube/client/client-identity.ts';
import { ConnectionSet } from '../kube/client/connections.ts';
import type { Clock } from '../kube/clock.ts';
import { untilAborted } from '../kube/sleep.ts';
import type { Logger } from '../logger.ts';
import { TargetAddresses } from '../platform/targets/addresses.ts';
import { TargetConnections } from '../platform/targets/target-connections.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import type { HealthChecks } from '../telemetry/health.ts';
import type { GatewayMetrics } from '../telemetry/metrics/gateway.ts';
import { RequestAudits } from './audit/request-audits.ts';
import { Endpoints } from './endpoints/endpoints.ts';
import { IssuerDocuments } from './endpoints/issuer-documents.ts';
import { HeldBytes } from './endpoints/shared/held-bytes.ts';
import { Quota } from './endpoints/shared/quota.ts';
import { Removals } from './endpoints/shared/removals.ts';
import { AccountTokens } from './exchange/account-tokens.ts';
import { Exchanges, type ExchangesOptions } from './exchange/exchanges.ts';
import { readJSONOverHTTPS } from './exchange/https-json.ts';
import { knownIssuers } from './exchange/key-sets.ts';
import type { EntryPermissions } from './gate/entry-permissions.ts';
import { Misses } from './gate/misses.ts';
import { OpenRequests } from './gate/open-requests.ts';
import { CredentialIndex } from './index/credential-index.ts';
import { RecentChanges } from './index/recent-changes.ts';
import { SitePolicyWatch } from './index/site-policy-watch.ts';
import { TargetRecords } from './index/target-records.ts';
import { limitedLog } from './limited-log.ts';
import {
  activityWritesPerSecond,
  credentialsPerUser,
  heldBytesLimits,
  maxMissAddresses,
  requestLimits,
  upstreamLimits,
} from './limits.ts';
import { createPageServer } from './page/page-server.ts';
import { createFollowingPermissions, createPermissions } from './permissions.ts';
import { upstreamConnections } from './proxy/http/upstream-pool.ts';
import { Targets } from './proxy/targets.ts';
import { ApiServerUpstream, type Upstream } from './proxy/upstream.ts';
import { RequestHandler } from './request-handler.ts';
import { Servers } from './servers.ts';
import { LargeBodies, largeBodyLimits } from './turns/large-bodies.ts';
import { MainThread } from './turns/main-thread.ts';
import { YAMLReader, yamlLimits } from './yaml/yaml-reader.ts';

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  /** Undefined: no line is written about requests. */
  readonly audit: AuditSink | undefined;
  /** A client that acts as the account that reads all credentials. */
  readonly reader: KubeClient;
  /** A client that acts as the account that writes the last activity of keys. */
  readonly activity: KubeClient;
  /** A client that can act as the user of a credential. */
  readonly client: KubeClient;
  /** The same for questions of new requests, with a connection for each that may be asked at once. */
  readonly entering: KubeClient;
  /** The same for questions about requests under way. It shares no connection and no line with the former. */
  readonly staying: KubeClient;
  /** Of this process, which may impersonate and nothing else. */
  readonly identity: IdentitySource;
}

/** Puts the parts of the gateway together: an index of credentials, connections to targets, and servers. */
export class Gateway {
  readonly readiness: HealthChecks;
  readonly #options: GatewayOptions;
  readonly #index: CredentialIndex;
  readonly #permissions: EntryPermissions;
  readonly #followingPermissions: EntryPermissions;
  readonly #issuer: IssuerDocuments;
  readonly #sitePolicy: SitePolicyWatch;
  readonly #removals: Removals;
  readonly #open: OpenRequests;
  readonly #audits: RequestAudits | undefined;
  readonly #platform: Upstream;
  readonly #targets: Targets;
  readonly #targetRecords: TargetRecords;
  readonly #targetConnections: TargetConnections;
  readonly #connections: ConnectionSet;
  readonly #servers: Servers;
  #isStopping = false;

  /** Throws ERR_CERTIFICATE. */
  constructor(options: GatewayOptions) {
    const { settings } = options;
    this.#options = options;
    this.#targetRecords = this.#createTargetRecords();
    this.#index = this.#createIndex();
    this.#issuer = createIssuerDocuments(options);
    this.#sitePolicy = createSitePolicy(options);
    this.#removals = createRemovals(options, this.#index);
    this.#audits = this.#createAudits();
    options.metrics.readWaitingActivity(() => this.#index.waitingActivity);
    this.#permissions = createPermissions({
      ...options,
      onLost: ({ user }) => this.#open.recheckFor({ user }),
    });
    this.#followingPermissions = createFollowingPermissions(options);
    this.#open = this.#createOpenRequests();
    this.#connections = new ConnectionSet(
      upstreamConnections(upstreamLimits(options.settings), options.clock),
    );
    this.#targetConnections = new TargetConnections({
      ...upstreamConnections(upstreamLimits(options.settings), options.clock),
      store: this.#targetRecords.access,
      lookup: new TargetAddresses(settings.targetAddresses).lookup,
    });
    this.#platform = new ApiServerUpstream({
      ...options,
      connections: this.#connections,
      limits: upstreamLimits(settings),
    });
    this.#targets = this.#createTargets(this.#platform);
    this.#servers = this.#createServers(this.#createHandler());
    this.readiness = {
      index: () => this.#index.problem(),
      certificate: () => this.#servers.certificateProblem(),
      shutdown: () => (this.#isStopping ? 'the gateway stops' : undefined),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const watched = [this.#index, this.#issuer, this.#sitePolicy];
    const watching = watched.map((each) => each.run(ended.signal));
    const running = [...watching, this.#servers.followCertificate(signal)];
    await this.#servers.listen();
    await untilAborted(signal);
    this.#isStopping = true;
    await this.#servers.stop();
    await this.#removals.drain();
    this.#audits?.close();
    ended.abort();
    await Promise.all(running);
    await this.#connections.close();
    await this.#targetConnections.close();
  }

  #createIndex(): CredentialIndex {
    const { settings, reader: client, activity: activityClient, metrics, ...shared } = this.#options;
    return new CredentialIndex({
      ...shared,
      client,
      metricsOf: (name) => metrics.informers.for(name),
      activityClient,
      activityIntervalMs: settings.activityIntervalMs,
      activityWritesPerSecond,
      projectNamespacePrefix: settings.projectNamespacePrefix,
      staleAfterMs: settings.staleAfterMs,
      onDropped: (hash) => this.#open.recheck(hash),
      targets: this.#targetRecords,
    });
  }

  #createTargetRecords(): TargetRecords {
    return new TargetRecords(this.#options.settings.projectNamespacePrefix, (targetUID) =>
      this.#open.recheckFor({ targetUID }),
    );
  }

  #createServers(handler: RequestHandler): Servers {
    const { settings } = this.#options;
    return new Servers({
      ...this.#options,
      handlers: {
        ...(this.#audits && { onRequestRefused: this.#audits.refused }),
        onRequest: (request, response) => handler.handle(request, response),
        mayBecomeTunnel: (request) => handler.mayBecomeTunnel(request),
      },
      other: { purpose: 'page', create: (shared) => createPageServer({ ...shared, settings }) },
    });
  }

  #createAudits(): RequestAudits | undefined {
    const { audit: sink, clock } = this.#options;
    return (
      sink &&
      new RequestAudits({
        sink,
        clock,
        withHash: (hash) => this.#index.records.withHash(hash),
        clientAddress: (request) => this.#servers.clientAddress(request),
      })
    );
  }

  #createTargets(platform: Upstream): Targets {
    const { settings, clock } = this.#options;
    return new Targets({
      platform,
      clock,
      records: this.#targetRecords,
      connections: this.#targetConnections,
      projectNamespacePrefix: settings.projectNamespacePrefix,
      limits: upstreamLimits(settings),
    });
  }

  #createEndpoints(misses: Misses): Endpoints {
    const { clock, settings } = this.#options;
    const { records } = this.#index;
    const limits = byCredentialKind(() => credentialsPerUser(settings));
    const shared = {
      index: this.#index,
      sitePolicy: this.#sitePolicy.current,
      held: new HeldBytes(heldBytesLimits),
      quota: new Quota({ records, now: () => clock.now(), limits }),
      clientAddress: (request: IncomingMessage) => this.#servers.clientAddress(request),
    };
    return new Endpoints({
      ...{ ...this.#options, ...shared },
      platform: this.#platform,
      tokens: this.#index.tokens,
      targetRecords: this.#targetRecords,
      permissions: this.#permissions,
      followingPermissions: this.#followingPermissions,
      misses,
      yaml: new YAMLReader({ clock, limits: yamlLimits, isAlone: (user) => this.#open.isAlone(user) }),
      changes: new RecentChanges(records, (kind) => this.#index.position(kind)),
      issuer: this.#issuer,
      issuerReads: createMisses(this.#options),
      exchange: createExchanges({ ...this.#options, ...shared, upstream: this.#platform }),
      removals: this.#removals,
    });
  }

  #createHandler(): RequestHandler {
    const { log, clock } = this.#options;
    const misses = createMisses(this.#options);
    return new RequestHandler({
      ...this.#options,
      log: limitedLog(log, clock),
      index: this.#index,
      open: this.#open,
      targets: this.#targets,
      permissions: this.#permissions,
      misses,
      audits: this.#audits,
      endpoints: this.#createEndpoints(misses),
      mainThread: new MainThread({ clock, isAlone: (user) => this.#open.isAlone(user) }),
      largeBodies: new LargeBodies({ clock, ...largeBodyLimits }),
      onAuthenticated: (socket, user) => this.#servers.authenticated(socket, user),
      clientAddress: (request) => this.#servers.clientAddress(request),
    });
  }

  #createOpenRequests(): OpenRequests {
    const { clock, settings } = this.#options;
    return new OpenRequests({
      clock,
      find: (hash) => this.#index.find(hash),
      problem: () => this.#index.problem(),
      findTarget: (target) => this.#targets.find(target),
      projectsVersion: () => this.#targetRecords.projectsVersion,
      permissions: this.#permissions,
      limits: requestLimits(settings),
    });
  }
}

const createIssuerDocuments = ({ settings, reader: client, metrics, ...shared }: GatewayOptions) =>
  new IssuerDocuments({
    ...shared,
    client,
    metricsOf: (name) => metrics.informers.for(name),
    staleAfterMs: settings.staleAfterMs,
  });

const createSitePolicy = ({ reader: client, metrics, ...shared }: GatewayOptions) =>
  new SitePolicyWatch({ ...shared, client, metricsOf: (name) => metrics.informers.for(name) });

const createRemovals = (options: GatewayOptions, { records }: CredentialIndex): Removals =>
  new Removals({
    ...options,
    resource: virtualClusterInstanceKubeConfigs,
    arrivals: records.arrivals.VirtualClusterInstanceKubeConfig,
  });

type ExchangeParts = Pick<
  ExchangesOptions,
  'upstream' | 'index' | 'sitePolicy' | 'held' | 'quota' | 'clientAddress'
>;

/** Strangers may ask for it, so it shares no count with others. */
const createExchanges = (options: GatewayOptions & ExchangeParts): Exchanges => {
  const { settings, client } = options;
  return new Exchanges({
    ...options,
    issuers: knownIssuers(settings.trustedIssuers, {
      ...options,
      read: readJSONOverHTTPS(options.clock),
    }),
    accountTokens: new AccountTokens({ ...options, client, audience: settings.baseURL }),
    attempts: createMisses(options),
  });
};

const createMisses = ({ clock, settings: { missesPerAddress: perMinute } }: GatewayOptions): Misses =>
  new Misses({ clock, perMinute, maxAddresses: maxMissAddresses });
