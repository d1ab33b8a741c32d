import type { IncomingMessage, ServerResponse } from 'node:http';
import { constantText, stranger, strangerWith } from '../../audit/credential.ts';
import { auditLine, type ConstantText, newAuditID } from '../../audit/line.ts';
import type { AuditSink } from '../../audit/sink.ts';
import { type RefusalSum, Strangers } from '../../audit/strangers.ts';
import { keyIDOf } from '../../credentials/keys/credential-hash.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { Clock } from '../../kube/clock.ts';
import { type Authenticated, hashOfBearer } from '../gate/authenticate.ts';
import type { Verdict } from '../index/verdict.ts';
import { RequestAudit, type RequestAuditOptions } from './request-audit.ts';

export interface RequestAuditsOptions {
  readonly sink: AuditSink;
  readonly clock: Clock;
  /** Every credential that claims a hash, whether or not it grants anything. */
  readonly withHash: (hash: string) => readonly LiveRecord[];
  readonly clientAddress: RequestAuditOptions['clientAddress'];
}

/** A member of the answer itself: a map of all that are under way costs the garbage collector more than the rest of a line. */
const ofResponse = Symbol('audit');
type AuditedResponse = ServerResponse & { [ofResponse]?: RequestAudit };

interface ConstantTexts {
  readonly own: ConstantText;
  /** In targets where every user has more groups. */
  inside?: ConstantText;
}

/** A line about each request. What is the same in all lines of a credential is made once for its verdict. */
export class RequestAudits {
  readonly #options: RequestAuditsOptions;
  readonly #constants = new WeakMap<Verdict, ConstantTexts>();
  readonly #ofRequests: RequestAuditOptions;
  readonly #strangers: Strangers;

  constructor(options: RequestAuditsOptions) {
    this.#options = options;
    this.#ofRequests = { ...options, onEnd: (audit) => this.#end(audit) };
    this.#strangers = new Strangers({ clock: options.clock, onSum: (sum) => this.#writeSum(sum) });
  }

  /** A request that waits for a question begins a second time. */
  begin(request: IncomingMessage, response: AuditedResponse): RequestAudit {
    response[ofResponse] ??= new RequestAudit(request, response, this.#ofRequests);
    return response[ofResponse];
  }

  /** Before anyone looked at who sent it. */
  readonly refused = (request: IncomingMessage, response: ServerResponse, code: string): void =>
    this.begin(request, response).refused(code);

  find(response: AuditedResponse): RequestAudit | undefined {
    return response[ofResponse];
  }

  /** `groups`: that every user has in the target, besides those of the credential. */
  constantOf({ verdict, hash }: Authenticated, groups: readonly string[]): ConstantText {
    const known = this.#constants.get(verdict) ?? { own: textOf({ verdict, hash }, []) };
    this.#constants.set(verdict, known);
    if (groups.length === 0) return known.own;
    known.inside ??= textOf({ verdict, hash }, groups);
    return known.inside;
  }

  /** Writes what is still summed up. */
  close(): void {
    this.#strangers.flush();
  }

  #end(audit: RequestAudit): void {
    if (audit.constant !== undefined) return audit.write('ResponseComplete');
    const { error = '', request, code: status = 0 } = audit;
    const [source = 'unknown'] = audit.sources;
    const hash = hashOfBearer(request);
    const keyID = hash && keyIDOf(hash);
    if (!this.#strangers.admit({ error, status, keyID, source })) return;
    audit.constant = hash === undefined ? stranger : strangerWith(hash, this.#options.withHash(hash)[0]);
    audit.write('ResponseComplete');
  }

  #writeSum({ error, status, keyID, count, sources, since }: RefusalSum): void {
    const { sink, clock } = this.#options;
    const line = auditLine({
      auditID: newAuditID(),
      stage: 'ResponseComplete',
      ...{ requestURI: '', verb: 'summary', constant: stranger, sources: [...sources], code: status },
      ...{ received: since, now: clock.now() },
      annotations: {
        decision: error === '' ? 'allow' : 'refuse',
        ...{ error: error || undefined, keyID, count: String(count) },
      },
    });
    sink.write(line);
  }
}

/** As the target is told, with its groups. */
function textOf({ verdict, hash }: Authenticated, groups: readonly string[]): ConstantText {
  const { impersonation, record, ancestors } = verdict;
  const ofCredential = impersonation.filter((_, index) => impersonation[index - 1] === 'impersonate-group');
  const user = { username: impersonation[1] ?? '', groups: [...ofCredential, ...groups] };
  return constantText(user, record, ancestors, hash);
}
