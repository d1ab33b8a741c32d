import type { IncomingMessage } from 'node:http';
import type { AuditSink } from '../../audit/sink.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { IdentitySource } from '../../kube/client/client-identity.ts';
import { ConnectionSet } from '../../kube/client/connections.ts';
import type { Clock } from '../../kube/clock.ts';
import { untilAborted } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';
import type { DirectEndpointSettings } from '../../settings/direct-endpoint.ts';
import type { HealthChecks } from '../../telemetry/health.ts';
import type { DirectEndpointMetrics } from '../../telemetry/metrics/direct-endpoint.ts';
import type { GatewayMetrics } from '../../telemetry/metrics/gateway.ts';
import { RequestAudits } from '../audit/request-audits.ts';
import { HeldBytes } from '../endpoints/shared/held-bytes.ts';
import { EntryPermissions } from '../gate/entry-permissions.ts';
import { Misses } from '../gate/misses.ts';
import { OpenRequests } from '../gate/open-requests.ts';
import { TargetRecords } from '../index/target-records.ts';
import { limitedLog } from '../limited-log.ts';
import { heldBytesLimits, maxMissAddresses, requestLimits, upstreamLimits } from '../limits.ts';
import { upstreamConnections } from '../proxy/http/upstream-pool.ts';
import { ApiServerUpstream } from '../proxy/upstream.ts';
import { RequestHandler } from '../request-handler.ts';
import type { ServingCertificate } from '../server/certificate.ts';
import { errorAnswer } from '../server/error-answer.ts';
import { Servers } from '../servers.ts';
import { LargeBodies, largeBodyLimits } from '../turns/large-bodies.ts';
import { MainThread } from '../turns/main-thread.ts';
import { YAMLReader, yamlLimits } from '../yaml/yaml-reader.ts';
import { EndpointTargets, withOwnCluster } from './endpoint-targets.ts';
import { FollowedCredentials } from './followed-credentials.ts';
import { judgeReview } from './judge-review.ts';
import { OutageRecord } from './outage-record.ts';
import { OwnCluster } from './own-cluster.ts';
import { platformQuestions, type SpaceAnswer, SpaceRights } from './space-rights.ts';
import { StreamFollower } from './stream-follower.ts';
import { TargetEndpoints } from './target-endpoints.ts';
import { WebhookServer } from './webhook/webhook-server.ts';

export interface DirectEndpointOptions {
  readonly settings: DirectEndpointSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  readonly endpointMetrics: DirectEndpointMetrics;
  /** Undefined: no line is written about requests. */
  readonly audit: AuditSink | undefined;
  /** Of the gateway of the platform, as the agent. */
  readonly platform: KubeClient;
  /** Of the cluster, as the account of the endpoint. */
  readonly client: KubeClient;
  /** The same account, for requests of users. */
  readonly identity: IdentitySource;
  /** The authority of the certificate with which the API server asks the webhook, PEM. Undefined: there is no webhook. */
  readonly webhookClientCA: string | undefined;
}

/** The gateway of one cluster, in that cluster: its index is a stream of the platform, and it goes on for a while without the platform. */
export class DirectEndpoint {
  readonly readiness: HealthChecks;
  readonly #options: DirectEndpointOptions;
  readonly #followed: FollowedCredentials;
  readonly #follower: StreamFollower;
  readonly #record: OutageRecord;
  readonly #own: OwnCluster;
  readonly #rights: SpaceRights;
  readonly #connections: ConnectionSet;
  readonly #targets: EndpointTargets;
  readonly #open: OpenRequests;
  readonly #audits: RequestAudits | undefined;
  readonly #servers: Servers;
  #isStopping = false;

  /** Throws ERR_CERTIFICATE. */
  constructor(options: DirectEndpointOptions) {
    const { settings, clock, client, log, endpointMetrics: metrics } = options;
    this.#options = options;
    this.#own = new OwnCluster({ client, clock, log });
    this.#followed = new FollowedCredentials({
      ...settings,
      clock,
      withTokenIDs: options.webhookClientCA !== undefined,
      onChange: (hash) => this.#open.recheck(hash),
    });
    this.#connections = new ConnectionSet(
      upstreamConnections(upstreamLimits(options.settings), options.clock),
    );
    this.#targets = this.#createTargets();
    this.#rights = this.#createRights();
    this.#record = new OutageRecord({
      ...options,
      metrics,
      ...settings,
      followed: this.#followed,
      rights: this.#rights,
    });
    this.#follower = new StreamFollower({
      ...{ ...options, ...settings },
      client: options.platform,
      followed: this.#followed,
    });
    this.#open = this.#createOpenRequests();
    this.#audits = this.#createAudits();
    this.#servers = this.#createServers(this.#createHandler());
    this.readiness = {
      index: () => this.#problem(),
      certificate: () => this.#servers.certificateProblem(),
      shutdown: () => (this.#isStopping ? 'the direct endpoint stops' : undefined),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    await this.#record.load();
    const parts = [this.#own, this.#follower, this.#record].map((each) => each.run(ended.signal));
    const running = [...parts, this.#servers.followCertificate(signal)];
    await this.#servers.listen();
    await untilAborted(signal);
    this.#isStopping = true;
    await this.#servers.stop();
    this.#audits?.close();
    ended.abort();
    await Promise.all(running);
    await this.#connections.close();
  }

  #problem(): string | undefined {
    return this.#own.problem() ?? this.#followed.problem();
  }

  #createTargets(): EndpointTargets {
    const { settings, clock, identity } = this.#options;
    const limits = upstreamLimits(settings);
    const upstream = new ApiServerUpstream({ identity, connections: this.#connections, limits, clock });
    return new EndpointTargets({ ...settings, followed: this.#followed, upstream });
  }

  #createRights(): SpaceRights {
    const { settings, clock, random, log, platform: client } = this.#options;
    const followed = this.#followed;
    const { maxConnections, staleAfterMs, outageMs, cluster } = settings;
    const { spaceUID } = this.#targets;
    const onAnswer = (answer: SpaceAnswer) => this.#rights.onAnswer(answer);
    const questions = platformQuestions({ client, cluster, clock, followed, spaceUID, onAnswer });
    const shared = { clock, random, log, maxConnections, maxStayMs: staleAfterMs };
    const permissions = new EntryPermissions({ ...shared, entering: questions, staying: questions });
    return new SpaceRights({ permissions, clock, followed, staleAfterMs, outageMs, spaceUID });
  }

  #createOpenRequests(): OpenRequests {
    const { clock, settings } = this.#options;
    return new OpenRequests({
      clock,
      find: (hash) => this.#followed.find(hash),
      problem: () => this.#problem(),
      findTarget: (target) => this.#targets.find(target),
      projectsVersion: () => 0,
      permissions: this.#rights,
      limits: requestLimits(settings),
    });
  }

  #createHandler(): RequestHandler {
    const { clock, log, settings } = this.#options;
    const isAlone = (user: string) => this.#open.isAlone(user);
    const followed = this.#followed;
    const yaml = new YAMLReader({ clock, limits: yamlLimits, isAlone });
    const held = new HeldBytes(heldBytesLimits);
    // Only questions about the platform need these, and none of them gets so far.
    const never = { isAllowed: async () => false, denialOf: async () => undefined, mayStay: () => false };
    const targetRecords = new TargetRecords(settings.projectNamespacePrefix);
    return new RequestHandler({
      ...this.#options,
      log: limitedLog(log, clock),
      // Clients reach it without the path that the platform may have.
      settings: { ...settings, baseURL: new URL(settings.baseURL).origin },
      index: { find: (hash) => followed.find(hash), problem: () => this.#problem(), used: () => undefined },
      open: this.#open,
      targets: this.#targets,
      permissions: this.#rights,
      misses: new Misses({ clock, perMinute: settings.missesPerAddress, maxAddresses: maxMissAddresses }),
      audits: this.#audits,
      endpoints: new TargetEndpoints({ yaml, held, settings, permissions: never, targetRecords }),
      mainThread: new MainThread({ clock, isAlone }),
      largeBodies: new LargeBodies({ clock, ...largeBodyLimits }),
      onAuthenticated: (socket, user) => this.#servers.authenticated(socket, user),
      clientAddress: (request) => this.#servers.clientAddress(request),
      refusals: refusalsOf(settings.cluster),
    });
  }

  #createServers(handler: RequestHandler): Servers {
    const own = (request: IncomingMessage) => {
      request.url = withOwnCluster(request.url ?? '', this.#options.settings.cluster);
      return request;
    };
    return new Servers({
      ...this.#options,
      handlers: {
        ...(this.#audits && { onRequestRefused: this.#audits.refused }),
        onRequest: (request, response) => handler.handle(own(request), response),
        mayBecomeTunnel: (request) => handler.mayBecomeTunnel(own(request)),
      },
      other: { purpose: 'webhook', create: ({ certificate }) => this.#createWebhook(certificate) },
    });
  }

  #createWebhook(certificate: ServingCertificate | undefined): WebhookServer | undefined {
    const { settings, clock, webhookClientCA: clientCA, endpointMetrics } = this.#options;
    if (clientCA === undefined || certificate === undefined) return undefined;
    const judge = {
      cluster: settings.cluster,
      followed: this.#followed,
      problem: () => this.#problem(),
    };
    return new WebhookServer({
      ...{ address: settings.webhookAddress, certificate, clientCA, clock },
      judge: (spec) => judgeReview(spec, judge),
      onAnswer: (answer) => endpointMetrics.reviews.inc({ answer }),
    });
  }

  #createAudits(): RequestAudits | undefined {
    const { audit: sink, clock } = this.#options;
    const clientAddress = (request: IncomingMessage) => this.#servers.clientAddress(request);
    return sink && new RequestAudits({ sink, clock, withHash: () => [], clientAddress });
  }
}

const refusalsOf = (cluster: string) => ({
  credential: errorAnswer(
    'ERR_ENDPOINT_CREDENTIAL',
    { cluster },
    { headers: ['www-authenticate', 'Bearer'] },
  ),
  unknown: errorAnswer('ERR_ENDPOINT_OUTAGE', { cluster }, { headers: ['retry-after', '5'] }),
  target: errorAnswer('ERR_ENDPOINT_TARGET', { cluster }),
});
