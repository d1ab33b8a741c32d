import type { Verdict } from '../index/verdict.ts';
import { isAgent } from './own-objects.ts';

/**
 * Whose share of the gateway a request takes: places, and time of the main thread. It is that of its user. All credentials of agents that
 * a user has made share another one: a busy user would otherwise keep the direct endpoints of their clusters from hearing what was
 * revoked. One for each would give a user as many shares as they make keys. Connections are counted by user alone.
 */
export const shareOf = (verdict: Pick<Verdict, 'gates' | 'record' | 'identity'>): string =>
  isAgent(verdict) ? agentMark + verdict.identity.user : verdict.identity.user;

/** No user has such a name: it cannot stand in a header. */
const agentMark = '\0agents of ';
