const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** Epoch milliseconds of an RFC 3339 time, or `undefined` for anything else (absent, null, garbage). */
export function parseInstant(value: unknown): number | undefined {
  if (typeof value !== 'string' || !rfc3339.test(value)) return undefined;
  const instant = Date.parse(value);
  return Number.isFinite(instant) ? instant : undefined;
}

/** As `parseInstant`, for an end: what stands there but cannot be read counts as over long ago. */
export function parseEnd(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  return parseInstant(value) ?? 0;
}

/** Epoch milliseconds as Kubernetes writes times: RFC 3339, UTC, whole seconds (rounded down). */
export function formatInstant(instant: number): string {
  return `${new Date(Math.floor(instant / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** As Kubernetes writes times, with milliseconds where there are any. */
export function formatTimestamp(instant: number): string;
export function formatTimestamp(instant: number | undefined): string | undefined;
export function formatTimestamp(instant: number | undefined): string | undefined {
  if (instant === undefined) return undefined;
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

/** The form of Kubernetes' MicroTime: always six digits after the point. */
export function formatMicroTime(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, -1)}000Z`;
}
