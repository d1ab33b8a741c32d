import {
  type ConfirmedLife,
  expiringSoonAt,
  lifeOfAccessKey,
  operatorEndOfAccessKey,
} from '../../../credentials/life.ts';
import type { Lineage } from '../lineage.ts';
import type { KeyInput } from './input.ts';

/** The life of an access key as the operator sees it; epoch milliseconds, `Infinity` for no end. */
export interface KeyLife {
  /** When the operator acts. */
  readonly end: number;
  readonly over: boolean;
  readonly confirmed: ConfirmedLife;
  /** The end that people are shown: that of the key or of a parent, whichever is earlier. */
  readonly expires: number;
  readonly expiringSoonAt: number;
}

export function lifeOf({ record, now, limits }: KeyInput, lineage: Lineage): KeyLife {
  const end = operatorEndOfAccessKey(record, now, limits);
  const shown = operatorEndOfAccessKey(record, now, { activityInterval: 0 });
  const expires = Math.min(shown, lineage.kind === 'live' ? lineage.end : Number.POSITIVE_INFINITY);
  const start = record.ttlAfterLastActivity ? (record.status.lastActivity ?? record.created) : record.created;
  return {
    end,
    over: now >= end,
    confirmed: lifeOfAccessKey(record),
    expires,
    expiringSoonAt: Number.isFinite(expires) ? expiringSoonAt(start, expires) : Number.POSITIVE_INFINITY,
  };
}
