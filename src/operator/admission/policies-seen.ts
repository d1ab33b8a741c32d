/** The text of the Lease about the policies: those that its last leader saw, and until when it watched. */
export interface PoliciesSeen {
  readonly digest: string;
  /** Later objects may have been written while no operator watched: a resourceVersion. */
  readonly until: string;
}

/** Of a Lease that says it in other words, or was deleted, nothing is believed. */
export const unknownPolicies: PoliciesSeen = { digest: '', until: '0' };

/** How a Lease says that. */
export const unknownPoliciesText = 'unknown';

/** Undefined: no leader has said it yet. */
export function parsePoliciesSeen(text: string | undefined): PoliciesSeen | undefined {
  if (text === undefined) return undefined;
  const [, digest, until] = /^([0-9a-f]{64}) ([0-9]{1,20})$/.exec(text) ?? [];
  return digest === undefined || until === undefined ? unknownPolicies : { digest, until };
}

export const formatPoliciesSeen = ({ digest, until }: PoliciesSeen): string => `${digest} ${until}`;

/** How the first leader of all says which policies it found, before it has seen what came since: they may be edited while none leads. */
export const firstSeenText = (digest: string): string => formatPoliciesSeen({ digest, until: '0' });
