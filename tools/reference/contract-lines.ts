const line = String.raw`\d(?:\.\d)?-\d+`;
const several = `${line}(?:, ${line})*`;
/** At the beginning of a text, which is a title or the first cell of a case. */
const named = new RegExp(`['"](${several})(?=['" :])`, 'g');
const title = /(?:\bit|\))\(\s*(['"])(.*?)\1,/g;

/** The lines of the contract that the tests in a source carry in their names. */
export const linesNamedIn = (source: string): readonly string[] =>
  [...source.matchAll(named)].flatMap(([, lines = '']) => lines.split(', '));

/** The titles of tests that say nothing of a line of the contract, neither by themselves nor by the first cell of each case. */
export const titlesWithoutLine = (source: string): readonly string[] =>
  [...source.matchAll(title)]
    .map(([, , text = '']) => text)
    .filter((text) => !new RegExp(`^(?:%s|\\$line|${several})(?![\\w-])`).test(text));
