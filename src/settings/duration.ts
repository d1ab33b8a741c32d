const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;
const whole = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

/**
 * Reads a duration as Go writes it, with `d` (24 hours) besides: `250ms`, `30s`, `1h30m`, `0.5d`, `0`.
 * Returns milliseconds; `undefined` for any other text, signs and plain numbers included.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!whole.test(text)) return undefined;
  const total = [...text.matchAll(part)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * unitMs[unit as keyof typeof unitMs],
    0,
  );
  return Number.isSafeInteger(Math.round(total)) ? Math.round(total) : undefined;
}

/** The shortest form that `parseDuration` reads back to the same milliseconds, in one unit: `90s`, `30d`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0s';
  const units = Object.entries(unitMs).toReversed();
  const [unit, size] = units.find(([, size]) => milliseconds % size === 0) ?? ['ms', 1];
  return `${milliseconds / size}${unit}`;
}
