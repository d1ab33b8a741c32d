/** Texts that differ in each run, and their replacements. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g, '<uid>'],
  [/\b[\da-f]{64}\b/g, '<sha256>'],
  [/\b[\da-f]{16}\b/g, '<key id>'],
  [/(?<![\w-])[\w-]{43}(?=\.pem\b)/g, '<kid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>'],
  [/(?<=\s)\d+[smhd](?:\d+[smhd])?(?=\s|$)/g, '<age>'],
  [/(?<=127\.0\.0\.1:)\d+/g, '<port>'],
  [/(?<=\[(?:key|token)-)[a-z\d]{5}(?=\/)/g, '<random>'],
  // The columns of a table are as wide as what stands in them.
  [/(?<=\S) {2,}/g, '  '],
  [/ +$/gm, ''],
];

const masked = (text: string): string =>
  masks.reduce((rest, [found, mask]) => rest.replaceAll(found, mask), text).trim();

/**
 * Whether a command said what a page shows of it. Ages, times, hashes, ports and names made at random may be others, and an ellipsis
 * stands for anything.
 */
export function isAsShown(shown: string, said: string): boolean {
  const parts = masked(shown)
    .split('…')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`).test(masked(said));
}
