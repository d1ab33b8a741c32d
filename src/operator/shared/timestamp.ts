/** An instant as Kubernetes writes it: RFC 3339 in UTC, without milliseconds where there are none. */
export function timestampOf(instant: number): string;
export function timestampOf(instant: number | undefined): string | undefined;
export function timestampOf(instant: number | undefined): string | undefined {
  if (instant === undefined) return undefined;
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}
