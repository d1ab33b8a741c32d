import { defined } from '../../../api/json.ts';
import { endOfIssued, expiringSoonAt, type IssuedLife, lifeOfIssued } from '../../../credentials/life.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { Lineage } from '../lineage.ts';
import type { IssuedInput } from './issued-steps.ts';

/** The life of a token or kubeconfig; epoch milliseconds, `ttl` in seconds. */
export interface CredentialLife {
  readonly ttl: number;
  /** When the credential that was issued ends; absent when none was. */
  readonly end?: number;
  /** The life of a credential that is issued now. */
  readonly next: IssuedLife;
  /** The end of the present life under the present `ttl`; absent when nothing was issued. */
  readonly adjustedEnd?: number;
  /** When the successor is due; absent without renewal. */
  readonly renewAt?: number;
  readonly expiringSoonAt: number;
}

export function credentialLife({ record, now, limits }: IssuedInput, lineage: Lineage): CredentialLife {
  const { issuedAt } = record.status;
  const parentEnd = lineage.kind === 'live' ? lineage.end : Number.POSITIVE_INFINITY;
  const bounds = { maxLife: limits.maxTTL, parentEnd: Math.min(parentEnd, latestEnd(record)) };
  const next = lifeOfIssued(record, { ...bounds, issuedAt: now });
  const end = endOfIssued(record);
  if (end === undefined || issuedAt === undefined) {
    return { ttl: next.confirmedTTL, next, expiringSoonAt: Number.POSITIVE_INFINITY };
  }
  const renewAt = renewalOf(record, { issuedAt, end }, (at) =>
    lifeOfIssued(record, { ...bounds, issuedAt: at }),
  );
  return {
    ttl: next.confirmedTTL,
    end,
    next,
    adjustedEnd: lifeOfIssued(record, { ...bounds, issuedAt }).notAfter,
    // No one is warned of an end that a renewal will prevent.
    expiringSoonAt: renewAt === undefined ? expiringSoonAt(issuedAt, end) : Number.POSITIVE_INFINITY,
    ...defined({ renewAt }),
  };
}

/** A token for its requester has the groups of a day, which must not be prolonged without end by who has left them. */
function latestEnd({ accessKey, status }: CredentialRecord): number {
  return accessKey === undefined ? (status.notAfter ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

/**
 * A renewal that would not move the end (the parent ends first) is none, and one that would hardly move it waits for
 * the end. `renewBefore` is capped at half the life. Otherwise successors would be due for ever.
 */
function renewalOf(
  record: CredentialRecord,
  { issuedAt, end }: { readonly issuedAt: number; readonly end: number },
  lifeFrom: (at: number) => IssuedLife,
): number | undefined {
  if (record.accessKey === undefined) return undefined;
  const ttl = lifeFrom(end).confirmedTTL;
  const asked = record.renewBefore ?? (record.secretRef === undefined ? 0 : Math.floor(ttl / 3));
  if (asked === 0) return undefined;
  // A signer may give a certificate less than was asked for; a renewal before the issue would be due for ever.
  const given = record.kubeConfig?.clientCert ? Math.floor((end - issuedAt) / 1000) : ttl;
  const life = Math.min(ttl, given);
  const planned = end - Math.min(asked, Math.floor(life / 2)) * 1000;
  const gain = (lifeFrom(planned).notAfter - end) / 1000;
  if (gain <= 0) return undefined;
  return gain < ttl / 10 ? end : planned;
}
