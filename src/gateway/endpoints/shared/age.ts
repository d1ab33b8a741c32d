/** The time since an instant, as short as in the tables of the API server. */
export function ageOf(created: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(created)) / 1_000));
  if (Number.isNaN(seconds)) return '<unknown>';
  const units = [
    ['s', 1, 120],
    ['m', 60, 180],
    ['h', 3_600, 48],
    ['d', 86_400, 730],
  ] as const;
  const [unit, length] = units.find(([, each, max]) => seconds < each * max) ?? ['y', 31_536_000];
  return `${Math.floor(seconds / length)}${unit}`;
}
