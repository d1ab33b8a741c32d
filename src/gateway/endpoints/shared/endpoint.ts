import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SitePolicy } from '../../../credentials/site-policy.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { Logger } from '../../../logger.ts';
import type { TargetLocation } from '../../../scope/gate/authorise.ts';
import type { ResolvedRequest } from '../../../scope/requests/resolve-request.ts';
import type { GatewaySettings } from '../../../settings/gateway.ts';
import type { RequestAudit } from '../../audit/request-audit.ts';
import type { Authenticated } from '../../gate/authenticate.ts';
import type { EntryPermissions } from '../../gate/entry-permissions.ts';
import type { Misses } from '../../gate/misses.ts';
import type { CredentialIndex } from '../../index/credential-index.ts';
import type { LiveTokens } from '../../index/live-tokens.ts';
import type { RecentChanges } from '../../index/recent-changes.ts';
import type { TargetRecords } from '../../index/target-records.ts';
import type { Forwarding } from '../../proxy/forward.ts';
import type { FoundTarget } from '../../proxy/targets.ts';
import type { Upstream } from '../../proxy/upstream.ts';
import type { ErrorAnswer } from '../../server/error-answer.ts';
import type { YAMLReader } from '../../yaml/yaml-reader.ts';
import type { HeldBytes, Holding } from './held-bytes.ts';
import type { Quota } from './quota.ts';
import type { Removals } from './removals.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A request that passed the gate, with all that it takes to answer it or to forward it. */
export interface EndpointRequest extends Omit<Forwarding, 'body'> {
  readonly asked: ResolvedRequest;
  readonly sender: Authenticated;
  /** The namespace that a space is. */
  readonly place: TargetLocation & Pick<FoundTarget, 'isNamespaceMissing'>;
  /** Calls back when the endpoint has done all it does and the client has its answer, or is gone: what the request holds is free then. */
  readonly onOver: (callback: () => void) => void;
  /** When a write leaves that may end the credential itself: the request is not cut any more when that is over. It counts until its answer. */
  readonly finish: () => void;
  /** When that write was refused: the request goes on as before. Throws ClientGone when its credential has ended meanwhile. */
  readonly resume: () => void;
  /** Passes the request on as it came, as if no endpoint were there. */
  readonly passOn: () => void;
  /** Answers with an error of the gateway that no failure led to. */
  readonly refuse: (answer: ErrorAnswer) => void;
}

/** A verb that a kind does not have is refused by the gateway, in words of ours. */
export const everyVerb = [
  '',
  'create',
  'get',
  'list',
  'watch',
  'update',
  'patch',
  'delete',
  'deletecollection',
] as const;

export function queryOf({ asked: { forward: path } }: Pick<EndpointRequest, 'asked'>): URLSearchParams {
  const mark = path.indexOf('?');
  return new URLSearchParams(mark === -1 ? '' : path.slice(mark));
}

/** Memory for the request until it is over. */
export function holdFor(
  { sender, onOver }: Pick<EndpointRequest, 'sender' | 'onOver'>,
  held: HeldBytes,
): Holding {
  const holding = held.hold({ user: sender.verdict.identity.user, credential: sender.hash });
  onOver(() => holding.release());
  return holding;
}

/** One operation that the gateway answers itself, in whole or in part. It ends the response, or rejects for a defect. */
export type Endpoint = (request: EndpointRequest) => Promise<void>;

/** One that anybody may ask for, without a credential. */
export interface PublicEndpoint {
  readonly methods: readonly string[];
  /** Ends the response now or later, or says why not. Who reads a body says how long that may take. */
  readonly answer: (exchange: Exchange, context: PublicContext) => ErrorAnswer | undefined;
}

export interface PublicContext {
  readonly audit: RequestAudit | undefined;
  /** Told the user, once it is known that the client may speak for one. */
  readonly onAuthenticated: (user: string) => void;
  /** For an error that comes later. */
  readonly refuse: (answer: ErrorAnswer) => void;
}

/** A document that takes no credential, ready to be sent. */
export interface PublicDocument {
  readonly contentType: string;
  /** For so long it may be kept. */
  readonly maxAgeSeconds: number;
  readonly text: string;
  /** The same on every replica. */
  readonly etag: string;
}

/** Where the documents of the issuer are read. */
export interface IssuerDocumentSource {
  /** Undefined while it is not known what is published, or nothing is. */
  find(path: string): PublicDocument | undefined;
}

/** Services that endpoints use, besides the request. */
export interface EndpointServices {
  readonly settings: GatewaySettings;
  readonly log: Logger;
  readonly clock: Clock;
  /** The API server of the platform. A request may come to it as to a target, and there the gateway can speak for that user alone. */
  readonly platform: Upstream;
  /** Acts as the account that reads all credentials: its answers hold secrets. For watches: all that is short takes the turn of its user. */
  readonly reader: Pick<KubeClient, 'overOneConnection'>;
  readonly index: Pick<CredentialIndex, 'records' | 'find' | 'problem'>;
  /** Tokens that are good at direct endpoints. */
  readonly tokens: LiveTokens;
  readonly quota: Quota;
  readonly held: HeldBytes;
  readonly yaml: YAMLReader;
  readonly changes: RecentChanges;
  /** The present site policy. */
  readonly sitePolicy: () => SitePolicy;
  readonly targetRecords: Pick<
    TargetRecords,
    'instances' | 'spaces' | 'clusters' | 'projects' | 'findProject' | 'known'
  >;
  readonly permissions: Pick<EntryPermissions, 'isAllowed' | 'denialOf' | 'mayStay'>;
  /** Of users whose tokens are in streams to direct endpoints: however many they are, they take no turn of a person's. */
  readonly followingPermissions: Pick<EntryPermissions, 'isAllowed' | 'lastAnswer' | 'maxStayMs'>;
  readonly misses: Pick<Misses, 'isTooMany'>;
  readonly issuer: IssuerDocumentSource;
  /** Of reads of documents that take no credential. */
  readonly issuerReads: Pick<Misses, 'isTooMany'>;
  /** The client, as far as it is known behind proxies. */
  readonly clientAddress: (request: IncomingMessage) => string;
  /** Makes keys of tokens of other issuers. */
  readonly exchange: PublicEndpoint;
  readonly removals: Pick<Removals, 'begin' | 'remove' | 'removeWhenItComes'>;
}

/** Looked at before others come to their turn. A scope with hundreds of entries takes a tenth of a millisecond for each. */
const atOnce = 50;

/** Does the work for each of many items, a few at a time: there may be thousands, and all users share the main thread. */
export async function eachInTurn<Item>(
  { turn }: Pick<EndpointRequest, 'turn'>,
  items: Iterable<Item>,
  work: (item: Item) => void | Promise<void>,
): Promise<void> {
  let count = 0;
  for (const item of items) {
    if (count % atOnce === 0) await turn();
    count += 1;
    await work(item);
  }
}
