import type { Confirmation } from '../../credentials/record.ts';

/** The serials of certificates that a status names. */
export type NamedSerials = Pick<Confirmation, 'serial' | 'boundSerials'>;

/** The serials of the certificates that may do something while the status says this, at `now` (epoch milliseconds). */
export function liveSerials(
  { credentialHash, serial, previous }: Confirmation,
  now: number,
): readonly number[] {
  return [
    ...(previous !== undefined && previous.expirationTimestamp > now ? [previous.serial] : []),
    ...(credentialHash === undefined ? [] : [serial]),
  ];
}

/** Serials that may have something in the virtual cluster and have no right to it. */
export function deadSerials({ boundSerials = [] }: NamedSerials, live: readonly number[]): readonly number[] {
  return boundSerials.filter((serial) => !live.includes(serial));
}

/** One that no certificate of this object ever had. `recorded`: what a record names that status may not name yet. */
export function nextSerial({ serial, boundSerials = [] }: NamedSerials, recorded: readonly number[]): number {
  return Math.max(serial, ...boundSerials, ...recorded) + 1;
}

/** True when the status has never named one of these: it is being written, or the process died before it was. */
export function isAhead(serials: readonly number[], { serial, boundSerials = [] }: NamedSerials): boolean {
  return Math.max(...serials) > Math.max(serial, ...boundSerials);
}

/** The confirmation when nothing but the live ones is left. A serial that came to nothing is not used again. */
export function withoutDead(confirmation: Confirmation, live: readonly number[]): Confirmation {
  const { boundSerials = [], ...rest } = confirmation;
  const kept = live.length === 0 ? {} : { boundSerials: live };
  const serial = rest.credentialHash === undefined ? Math.max(rest.serial, ...boundSerials) : rest.serial;
  return { ...rest, serial, ...kept };
}
