import type { IncomingMessage, ServerResponse } from 'node:http';
import { stranger } from '../../audit/credential.ts';
import { type Annotations, auditLine, type ConstantText, newAuditID, type Stage } from '../../audit/line.ts';
import { requestURI } from '../../audit/request-uri.ts';
import type { AuditSink } from '../../audit/sink.ts';
import { userAgentText } from '../../audit/text.ts';
import { plainAddress } from '../../cidr.ts';
import type { Clock } from '../../kube/clock.ts';
import type { RequestTarget } from '../../scope/request-path.ts';
import type { ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import type { CredentialAction, TouchedCredential, Trail } from './trail.ts';

/** The same for all requests. */
export interface RequestAuditOptions {
  readonly sink: AuditSink;
  readonly clock: Clock;
  /** The client, as far as it is known behind proxies. */
  readonly clientAddress: (request: IncomingMessage) => string;
  /** Called once for each, at the end of its answer. */
  readonly onEnd: (audit: RequestAudit) => void;
}

const maxURI = 1_024;
/** More of them are counted. */
const maxTouched = 16;
const maxUpstreamID = 64;
const maxUpstreamText = 256;

/** Bytes of the connection, and when, as a tunnel begins. */
interface TunnelStart {
  readonly at: number;
  readonly received: number;
  readonly sent: number;
}

/** One request, as the audit log sees it. What is known of it is put in as it becomes known. */
export class RequestAudit implements Trail {
  /** The request for the target carries it, so that its log calls the request the same. */
  readonly auditID = newAuditID();
  /** Once it is known who sent it. */
  constant: ConstantText | undefined;
  asked: ResolvedRequest | undefined;
  isLong = false;
  /** Why it was ended before its end. */
  cut: string | undefined;
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: RequestAuditOptions;
  readonly #received: number;
  /** Read at the beginning: a connection that was destroyed no longer knows it. */
  readonly #sources: readonly string[];
  /** Code of the error that the gateway answered with. */
  #error: string | undefined;
  /** Let through: what comes back is up to the target, or to an endpoint of the gateway. Absent: it ended before. */
  #decision: 'allow' | 'refuse' | undefined;
  #hasBegun = false;
  #isOnRecord = false;
  /** With a space between two. */
  #upstreamIDs = '';
  #action: CredentialAction | undefined;
  #touched: readonly TouchedCredential[] = none;
  #touchedCount = 0;
  #tunnel: TunnelStart | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, options: RequestAuditOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.#received = options.clock.now();
    this.#sources = sourcesOf(request, options.clientAddress(request));
    response.on('close', () => options.onEnd(this));
  }

  /** For the target, or an endpoint of the gateway. */
  allowed(): void {
    this.#decision = 'allow';
  }

  refused(code: string): void {
    this.#decision = 'refuse';
    this.#error = code;
  }

  /** It was let through, and the gateway has no answer of the target. */
  failed(code: string): void {
    this.#error = code;
  }

  get error(): string | undefined {
    return this.#error;
  }

  /** The client, and the last proxy in front of the gateway where there is one. */
  get sources(): readonly string[] {
    return this.#sources;
  }

  /** As it was sent; undefined while no answer was. */
  get code(): number | undefined {
    const { headersSent, statusCode } = this.#response;
    return headersSent || statusCode === switchingProtocols ? statusCode : undefined;
  }

  /** Where lines are required: whether it may go on, as soon as its first line is written. */
  hold(): Promise<boolean> | undefined {
    const { sink } = this.#options;
    return sink.isRequired ? this.#untilOnRecord() : undefined;
  }

  /** The same of a request that carries no credential and is about to make one: it has a line of its own in any case. */
  async holdAsStranger(): Promise<boolean> {
    this.constant = stranger;
    return (await this.hold()) ?? true;
  }

  upstream(auditID: string | undefined): void {
    if (auditID === undefined || auditID.length > maxUpstreamID || !/^[\w-]+$/.test(auditID)) return;
    const known = this.#upstreamIDs;
    if (known === '') this.#upstreamIDs = auditID;
    else if (known.length < maxUpstreamText && !known.includes(auditID))
      this.#upstreamIDs = `${known} ${auditID}`;
  }

  began(): void {
    if (!this.isLong || this.#hasBegun) return;
    this.#hasBegun = true;
    this.write('ResponseStarted');
  }

  switched(): void {
    const { clock } = this.#options;
    const { bytesRead, bytesWritten } = this.request.socket;
    this.#tunnel = { at: clock.monotonic(), received: bytesRead, sent: bytesWritten };
    this.began();
  }

  acts(action: CredentialAction): void {
    this.#action = action;
  }

  touched(credential: TouchedCredential): void {
    this.#touchedCount += 1;
    if (this.#touched.length < maxTouched) this.#touched = [...this.#touched, credential];
  }

  /** A line. One about a request that is on record already is written in any case. */
  write(stage: Stage): void {
    this.#options.sink.write(this.#line(stage), this.#isOnRecord);
  }

  async #untilOnRecord(): Promise<boolean> {
    this.#isOnRecord = await this.#options.sink.hold(this.#line('RequestReceived'));
    return this.#isOnRecord;
  }

  #line(stage: Stage): string {
    const { clock } = this.#options;
    const { constant, asked, request } = this;
    if (constant === undefined) throw new TypeError('a line says who sent the request');
    const userAgent = request.headers['user-agent'];
    return auditLine({
      auditID: this.auditID,
      stage,
      requestURI: requestURI(request.url ?? '', maxURI),
      verb: asked?.verb ?? request.method?.toLowerCase() ?? '',
      constant,
      sources: this.#sources,
      userAgent: userAgent === undefined ? undefined : userAgentText(userAgent),
      object: asked?.isResourceRequest ? asked : undefined,
      code: stage === 'RequestReceived' ? undefined : this.code,
      received: this.#received,
      now: clock.now(),
      annotations: this.#annotations(stage),
    });
  }

  /** Member by member, in place of spreading: it runs for every request. */
  #annotations(stage: Stage): Annotations {
    const { asked, cut } = this;
    const annotations: { -readonly [Name in keyof Annotations]: Annotations[Name] } = {};
    if (asked !== undefined) annotations.target = targetText(asked.target);
    if (stage !== 'RequestReceived') annotations.decision = this.#decision;
    if (this.#error !== undefined) annotations.error = this.#error;
    if (cut !== undefined) annotations.cut = cut;
    if (this.#upstreamIDs !== '') annotations.upstreamAuditID = this.#upstreamIDs;
    if (this.#action !== undefined) annotations.action = this.#action;
    if (this.#touchedCount > 0) this.#addTouched(annotations);
    if (this.#tunnel !== undefined && stage === 'ResponseComplete')
      this.#addTunnel(annotations, this.#tunnel);
    return annotations;
  }

  #addTouched(annotations: { -readonly [Name in keyof Annotations]: Annotations[Name] }): void {
    const [first] = this.#touched;
    annotations.changedKind = first?.kind;
    annotations.changed = this.#touched.map(({ key }) => key).join(' ');
    annotations.changedUID = this.#touched.map(({ uid }) => uid).join(' ');
    annotations.changedKeyID = first?.keyID;
    if (this.#touchedCount > 1) annotations.count = String(this.#touchedCount);
  }

  #addTunnel(
    annotations: { -readonly [Name in keyof Annotations]: Annotations[Name] },
    { at, received, sent }: TunnelStart,
  ): void {
    const { clock } = this.#options;
    const { bytesRead, bytesWritten } = this.request.socket;
    annotations.tunnelSeconds = ((clock.monotonic() - at) / 1000).toFixed(3);
    annotations.tunnelReceived = String(bytesRead - received);
    annotations.tunnelSent = String(bytesWritten - sent);
  }
}

const switchingProtocols = 101;

const none: readonly never[] = [];

function sourcesOf(request: IncomingMessage, clientAddress: string): readonly string[] {
  const client = plainAddress(clientAddress) ?? clientAddress;
  const { remoteAddress = client } = request.socket;
  const peer = remoteAddress === clientAddress ? client : (plainAddress(remoteAddress) ?? remoteAddress);
  return peer === client ? [client] : [client, peer];
}

/** As it stands in paths below the base URL. */
function targetText(target: RequestTarget): string {
  switch (target.kind) {
    case 'management':
      return 'management';
    case 'cluster':
      return `cluster/${target.cluster}`;
    case 'space':
      return `project/${target.project}/space/${target.space}`;
    case 'virtualCluster':
      return `project/${target.project}/virtualcluster/${target.virtualCluster}`;
  }
}
