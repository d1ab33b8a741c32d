import { asObject, asText } from '../api/json.ts';
import { annotations as names } from '../api/names.ts';
import { type Problem, reasons } from '../api/reasons.ts';

/** Bytes as the API server stores them. etcd takes one and a half times as much, so that there is room for a deletion timestamp. */
const maxObjectSize = 1_000_000;

/** The fields of `spec` that the operator and each gateway keep in memory as they are, for as long as the object exists. */
export const heldFields = ['scope', 'rules', 'exchange', 'secretRef'] as const;
/** The same for people. */
export const heldPaths = heldFields.map((field) => `spec.${field}`).join(', ');
/**
 * Of all held fields together, bytes of JSON, at admission. In memory they take up to three times as much. One user may make thousands of
 * objects, and a gateway whose memory is full serves no one.
 */
export const maxHeldBytes = 32_768;
/** Of an object that passed while no policy said so. The policy counts some characters as more bytes than they are, and never as fewer. */
const maxHeldAnyway = 2 * maxHeldBytes;

/** Annotations that stay in memory as well. What we write there is never as long, but others may have set them. */
const heldAnnotations = [names.createdWith, names.exchangedIssuer, names.exchangedSubject] as const;
/** Characters of each. */
const maxHeldAnnotation = 2_048;

/** Characters of the held fields as JSON: never more than bytes. Throws for what is nested too deep to be written. */
export function lengthOfHeld(spec: Readonly<Record<string, unknown>>): number {
  return heldFields.reduce((sum, field) => sum + (JSON.stringify(spec[field]) ?? '').length, 0);
}

/**
 * Why an object is too large to grant anything. At the limit of etcd it can be neither disabled nor deleted, because both make it larger. So
 * padding an object must end its credential, not protect it.
 */
export function sizeProblem(object: unknown): Problem | undefined {
  const text = textOf(object);
  if (text === undefined || !isWithinSize(text))
    return tooLarge('the object is larger than 1 MB; shorten spec, labels and annotations');
  const { metadata, spec } = asObject(object);
  const annotations = asObject(asObject(metadata)['annotations']);
  const long = heldAnnotations.find((name) => (asText(annotations[name]) ?? '').length > maxHeldAnnotation);
  if (long !== undefined)
    return tooLarge(
      `the annotation ${long} is longer than ${maxHeldAnnotation} characters; create the object again without it`,
    );
  if (text.length <= maxHeldAnyway || lengthOfHeld(asObject(spec)) <= maxHeldAnyway) return undefined;
  return tooLarge(
    `${heldPaths} are larger than ${maxHeldBytes} bytes together; shorten them, or make several credentials`,
  );
}

const tooLarge = (message: string): Problem => ({ reason: reasons.objectTooLarge, message });

/** `undefined` for what is nested too deep to be written. */
function textOf(object: unknown): string | undefined {
  try {
    return JSON.stringify(object) ?? '';
  } catch {
    return undefined;
  }
}

/** Counting takes long, and no character takes more than six bytes. */
const isWithinSize = (text: string): boolean =>
  text.length * 6 <= maxObjectSize || storedBytes(text) <= maxObjectSize;

/** Characters that Go escapes and JavaScript does not, or in fewer bytes, with the bytes that each takes more. */
const longerInGo: readonly (readonly [text: string, bytes: number])[] = [
  ...(['<', '>', '&'] as const).map((text) => [text, 5] as const),
  ...(['\u2028', '\u2029'] as const).map((text) => [text, 3] as const),
  ...(['\\b', '\\f'] as const).map((text) => [text, 4] as const),
];

/**
 * Bytes of a JSON text as Go writes it, counted up to the limit. To look for one text is many times as fast as to match a pattern:
 * a user who sends a megabyte has the one thread of the gateway meanwhile.
 */
function storedBytes(text: string): number {
  let bytes = Buffer.byteLength(text);
  for (const [escaped, more] of longerInGo) {
    let at = text.indexOf(escaped);
    while (at !== -1 && bytes <= maxObjectSize) {
      bytes += more;
      at = text.indexOf(escaped, at + escaped.length);
    }
  }
  return bytes;
}
