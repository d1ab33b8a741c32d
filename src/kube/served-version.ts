import { asObject, asText } from '../api/json.ts';

/** The version of Kubernetes by which an API server works. */
export interface ServedVersion {
  /** NaN: it does not say. */
  readonly major: number;
  readonly minor: number;
}

/**
 * Reads what an API server answers at `/version`. In the middle of an upgrade a new program may work as an older version; then
 * only what that version has is there.
 */
export function servedVersion(answer: unknown): ServedVersion {
  const { major, minor, emulationMajor = major, emulationMinor = minor } = asObject(answer);
  return { major: parsePart(emulationMajor), minor: parsePart(emulationMinor) };
}

/** Whether the program is of another version than the one by which it works. */
export function isEmulated(answer: unknown): boolean {
  const { major, minor } = asObject(answer);
  const served = servedVersion(answer);
  return served.major !== parsePart(major) || served.minor !== parsePart(minor);
}

/** Some vendors write "36+". */
function parsePart(value: unknown): number {
  const digits = /^\d{1,4}(?=\+?$)/.exec(asText(value) ?? '')?.[0];
  return digits === undefined ? Number.NaN : Number(digits);
}
