const name = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const value = `(?:${name})?`;
const prefix =
  '(?=[-.a-z0-9]{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/';
const key = `(?:${prefix})?${name}`;
const list = `\\( ?${value} ?(?:, ?${value} ?)*\\)`;
const requirement = new RegExp(
  `^ ?(?:! ?${key}|${key}(?: ?(?:==?|!=) ?${value}| ?[<>] ?(?<number>\\d{1,63})| (?:not)?in ?${list})?) ?$`,
);

/** Whether the API server can read this label selector. What it cannot read it answers by itself. */
export function isLabelSelector(selector: string): boolean {
  // One space for many: with two readings of each the pattern would try all of them.
  const text = selector.replace(/[ \t\r\n]+/g, ' ');
  return /^ ?$/.test(text) || splitAtCommas(text).every(isRequirement);
}

/** Commas in parentheses belong to the list of values. */
const splitAtCommas = (text: string): readonly string[] =>
  text.replace(/\([^()]*\)/g, (values) => values.replaceAll(',', '\0')).split(',');

function isRequirement(text: string): boolean {
  const match = requirement.exec(text.replaceAll('\0', ','));
  if (match === null) return false;
  const number = match.groups?.['number'];
  return number === undefined || BigInt(number) < 2n ** 63n;
}
