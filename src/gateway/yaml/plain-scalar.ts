/**
 * Resolves a text without quotes as the API server does, whose reader knows YAML 1.1 but for sexagesimals, dates and infinity as a number.
 */
export function resolvePlain(text: string): string | number | boolean | null {
  const word = words.get(text);
  return word === undefined ? (readNumber(text) ?? text) : word;
}

const spellings = (word: string) => [word, word[0]?.toUpperCase() + word.slice(1), word.toUpperCase()];
type Word = readonly [string, number | boolean | null];
const words: ReadonlyMap<string, number | boolean | null> = new Map<string, number | boolean | null>([
  ...['y', 'yes', 'true', 'on'].flatMap(spellings).map((word): Word => [word, true]),
  ...['n', 'no', 'false', 'off'].flatMap(spellings).map((word): Word => [word, false]),
  ...['', '~', ...spellings('null')].map((word): Word => [word, null]),
  ...['.nan', '.NaN', '.NAN'].map((word): Word => [word, Number.NaN]),
  ...['', '+', '-'].flatMap((sign) =>
    ['.inf', '.Inf', '.INF'].map((word): Word => [sign + word, Number(`${sign}Infinity`)]),
  ),
]);

function readNumber(text: string): number | undefined {
  if (text.startsWith('.')) return fraction.test(text) ? asFinite(text.replaceAll('_', '')) : undefined;
  if (!/^[-+\d]/.test(text)) return undefined;
  const plain = text.replaceAll('_', '');
  const [, sign = '', digits] = integer.exec(plain) ?? [];
  if (digits !== undefined) return Number(`${sign}1`) * Number(digits.replace(/^0(?=\d)/, '0o'));
  if (decimal.test(plain)) return asFinite(plain);
  return oddBinary.test(plain) ? Number.parseInt(plain.slice(2), 2) : undefined;
}

const integer = /^([-+]?)(0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/;
const decimal = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const fraction = /^\.\d+(?:_\d+)*(?:[eE][-+]?\d+(?:_\d+)*)?$/;
const oddBinary = /^0b[-+][01]+$/;

/** A number that is too large stays a text. */
function asFinite(text: string): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
