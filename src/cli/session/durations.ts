import { usage } from '../shared/failure.ts';

const units = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Reads `15m`, `24h`, `30d` or `90s` as seconds. Throws a Failure, also for a number alone: it could be minutes to who writes it. */
export function readTTL(text: string, noun = 'key'): number {
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (amount === undefined)
    throw usage(
      `${JSON.stringify(text)} is no length of time`,
      'Write a number and its unit: 90s, 15m, 24h or 30d.',
    );
  const seconds = Number(amount) * units[unit as keyof typeof units];
  if (seconds < 60)
    throw usage(`${text} is too short: no ${noun} lives for less than a minute`, 'Write 1m or more.');
  return seconds;
}
