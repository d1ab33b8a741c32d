import type { Verdict } from '../index/verdict.ts';
import { isAgent } from './own-objects.ts';

/**
 * Whose share of the gateway a request takes: places, connections, and time of the main thread. It is that of its user. The credential of
 * an agent has one of its own: a busy user would otherwise keep the direct endpoints of their clusters from hearing what was revoked.
 */
export const shareOf = (verdict: Pick<Verdict, 'gates' | 'record' | 'identity'>): string =>
  isAgent(verdict) ? `${agentMark}${verdict.record.uid}` : verdict.identity.user;

/** No user has such a name: it cannot stand in a header. */
const agentMark = '\0agent ';
