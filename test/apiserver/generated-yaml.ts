import { randomNumbers } from './generated-requests.ts';

type Pick = <T>(choices: readonly T[]) => T;
interface Source {
  readonly random: () => number;
  readonly pick: Pick;
}

/** What people and tools write in place of a value, and what readers of YAML differ about. */
const words = [
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'yEs', 'true', 'True', 'TRUE', 'tRUE', 'on', 'On', 'ON', 'oN'],
  ...['n', 'N', 'no', 'No', 'NO', 'nO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF', 'oFF'],
  ...['~', 'null', 'Null', 'NULL', 'nUll', '', 'nil', 'None', 'undefined'],
  ...[
    '.inf',
    '.Inf',
    '.INF',
    '-.inf',
    '+.INF',
    '.iNF',
    '.nan',
    '.NaN',
    '.NAN',
    '+.nan',
    'NaN',
    'Infinity',
    'inf',
  ],
  ...[
    '0',
    '-0',
    '+0',
    '00',
    '0_',
    '_0',
    '08',
    '09',
    '0600',
    '0o600',
    '0O17',
    '0o8',
    '0x1F',
    '0X1f',
    '-0x1F',
    '0x',
    '0xg',
  ],
  ...[
    '0b11',
    '0B1',
    '-0b11',
    '+0b1',
    '0b-1',
    '0b+1',
    '0b2',
    '0b',
    '1_000',
    '1__0',
    '-1_0',
    '0x_1',
    '0_x1',
    '1_',
  ],
  ...['10:00', '22:30', '1:2:3', '-1:30', '190:20:30.15', '10:60', '1:1', '0:0', '::', 'a:b'],
  ...[
    '1.0',
    '3600.0',
    '1.',
    '.5',
    '+.5',
    '-.5',
    '.',
    '..',
    '._5',
    '.5_0',
    '1.5e3',
    '1e3',
    '1E+3',
    '1e',
    '1e400',
    '-1e400',
    '1e-400',
  ],
  ...[
    '1.5.2',
    '1,000',
    '1e1_0',
    '0.1e1',
    '08.5',
    '0x1p4',
    '0x1.8',
    '1f',
    '24h',
    'PT1H',
    '4_0.5',
    '-0.0',
    '1e5.5',
    '+1e3',
    '6.02e23',
  ],
  ...[
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
  ],
  ...[
    '18446744073709551615',
    '18446744073709551616',
    '123456789012345678901234567890',
    '0xFFFFFFFFFFFFFFFF',
    '0777777777777777777777777',
  ],
  ...[
    '2026-11-22',
    '2026-1-2',
    '2026-11-22T10:00:00Z',
    '2026-11-22 10:00:00',
    '2026-11-22t10:00:00.5+01:00',
    '12:30:45',
  ],
  ...[
    '=',
    '<<',
    '!',
    '&',
    '*',
    '-',
    '--',
    '---',
    '...',
    '?',
    ':',
    '%',
    '@',
    '`',
    '|',
    '>',
    '#',
    ',',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
  ],
  ...[
    '- a',
    '? a',
    ': a',
    'a: b',
    'a :b',
    'a#b',
    'a #b',
    '#a',
    '%YAML 1.1',
    '@a',
    '`a`',
    '*a',
    '&a b',
    '!!str 5',
    '!!int 5',
    '!x y',
  ],
  ...[
    '"a"',
    '"\\u0041"',
    '"\\x41"',
    '"\\ud83d\\ude00"',
    '"\\/"',
    '"\\a\\e\\0"',
    '"\\q"',
    '"a\\\n  b"',
    "'it''s'",
    "'a\n\n  b'",
    '"a" b',
  ],
  ...[
    'a b',
    'a  b',
    'a\tb',
    '\ta',
    'a\t',
    ' a ',
    'a\n  b',
    'a\n\n  b',
    'Schlüssel 🔑',
    '東京',
    'alice@example.com',
    'https://a.b:6443/c?d=e&f#g',
  ],
  ...[
    '[]',
    '{}',
    '[a, b]',
    '[a,b]',
    '[a, ]',
    '[,]',
    '{a: 1}',
    '{a:1}',
    '{"a":1}',
    '{a}',
    '{a, b: }',
    '[a: 1]',
    '[{a: 1}]',
    '{? a : b}',
    '[[]]',
  ],
  ...[
    '|\n  a\n  b',
    '>\n  a\n  b',
    '|-\n  a\n',
    '|+\n  a\n\n',
    '>+\n  a\n\n   b\n',
    '|2\n   a',
    '|1\n  a',
    '| # c\n  a',
    '|x\n  a',
    '>-\n\n  a\n  \n  b',
  ],
];
const letters = '0123456789+-._eExXoObBaAfFnNyYtTrRuUsSlLiI~:#<>=!&*|?%@`\'",[]{} \t\\';
const bytes = '\n\n  \t:-#,[]{}"\'|>&*!?%@`~ab01\r\u0000\u0007\u007f\u0085\u00a0\u2028\ufeff\ufffe\u{1f511}';
const names = ['a', 'b', 'spec', 'ttl', 'display name', '"a"', "'b'", 'c', 'metadata', 'scope'];
const oddNames = [
  '1',
  '01',
  '1.5',
  'yes',
  'y',
  'true',
  '~',
  'null',
  '-1',
  '<<',
  '"<<"',
  '0x1',
  '1_0',
  '.inf',
  '? x',
  '!!str k',
  '&k k',
  '[a]',
  '{a: b}',
  'a:b',
  '-',
  '10:00',
  'a#b',
];

/** Texts as people, tools and attackers write them; the same `seed` gives the same texts. */
export function* generateYAML(seed: number, count: number): Generator<string> {
  const random = randomNumbers(seed);
  const pick: Pick = (choices) => choices[Math.floor(random() * choices.length)] as never;
  const source = { random, pick };
  for (let index = 0; index < count; index++) {
    const kind = index % 4;
    const text = kind < 2 ? inContext(scalar(source, kind === 1), source) : document(source);
    yield kind === 3 ? mutate(text, source) : text;
  }
}

function scalar({ random, pick }: Source, isRandom: boolean): string {
  if (!isRandom) return pick(words);
  const characters = Array.from({ length: 1 + Math.floor(random() * 7) }, () => pick([...letters]));
  return characters.join('');
}

function inContext(value: string, { pick }: Source): string {
  const contexts: readonly ((text: string) => string)[] = [
    (text) => `a: ${text}`,
    (text) => `a: ${text}\n`,
    (text) => `a: ${text}\nb: 1\n`,
    (text) => `a:\n  ${text}\n`,
    (text) => `- ${text}\n- 1\n`,
    (text) => `[${text}]`,
    (text) => `{a: ${text}}`,
    (text) => `{a: ${text}, b: 1}\n`,
    (text) => `${text}: 1\n`,
    (text) => `a: "${text}"\n`,
    (text) => `a: '${text}'\n`,
    (text) => `a: |\n  ${text}\n`,
    (text) => `a: >-\n  ${text}\n  b\n`,
    (text) => `a: !!str ${text}\n`,
    (text) => `a: ${text} # note\n`,
    (text) => `--- ${text}\n`,
    (text) => text,
  ];
  return pick(contexts)(value);
}

function document(source: Source): string {
  const { random, pick } = source;
  if (random() < 0.1) return json(source);
  const begin = pick([
    '',
    '',
    '',
    '',
    '---\n',
    '\ufeff',
    '# note\n',
    '%YAML 1.1\n---\n',
    '\n\n',
    '--- # note\n',
  ]);
  const end = pick([
    '',
    '',
    '',
    '',
    '\n',
    '...\n',
    '---\n',
    '---\na: 1\n',
    '# note',
    '\n\n  \n',
    '... # end\n',
  ]);
  const text = begin + (random() < 0.2 ? `${flow(source, 3)}\n` : block(source, 0, 3)) + end;
  return random() < 0.05 ? text.replaceAll('\n', '\r\n') : text;
}

/** Under the name of YAML, as kubectl and other clients write it. */
function json({ random, pick }: Source): string {
  const value = (depth: number): unknown => {
    if (depth > 0 && random() < 0.4) return Array.from({ length: 3 }, () => value(depth - 1));
    if (depth > 0 && random() < 0.6)
      return Object.fromEntries(
        names.map((name) => [name, value(depth - 1)]).slice(Math.floor(random() * 9)),
      );
    return pick([
      1,
      -1,
      1.5,
      1e21,
      2 ** 53,
      0,
      true,
      null,
      '',
      'a',
      'a b',
      'Schlüssel 🔑',
      '\u2028',
      '\u0007',
      'a/b',
      '\ufeff',
      '\u007f',
      '\u0085',
    ]);
  };
  const text = JSON.stringify({ spec: value(3), a: value(2) }, null, pick(['', '', ' ', '  ', '\t']));
  const escaped = random() < 0.2 ? text.replaceAll('/', '\\/') : text;
  return random() < 0.2
    ? escaped.replace(
        /[^ -~\s]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    : escaped;
}

const lineEnd = ({ random, pick }: Source) =>
  random() < 0.1 ? pick([' # note\n', '  \n', '\t\n', ' #\n', '\t# note\n']) : '\n';

function block(source: Source, indent: number, depth: number): string {
  const { random, pick } = source;
  const isList = random() < 0.3;
  const spaces = ' '.repeat(indent);
  const items = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => {
    const begin = isList ? `${spaces}-` : `${spaces}${nameAt(index, source)}:`;
    const blank = random() < 0.05 ? pick(['\n', `${spaces}# note\n`, '   \n', '# note\n', '\t\n']) : '';
    return blank + begin + blockValue(source, indent, depth);
  });
  return items.join('');
}

const nameAt = (index: number, { random, pick }: Source) =>
  random() < 0.06
    ? pick(oddNames)
    : `${pick(names)}${random() < 0.95 ? index : ''}`.replace(/(["'])(\d)$/, '$2$1');

function blockValue(source: Source, indent: number, depth: number): string {
  const { random, pick } = source;
  const chance = random();
  const more = indent + pick([1, 2, 2, 2, 4]);
  const property = random() < 0.06 ? pick([' &x', ' !!map', ' !!seq', ' !x', ' &x !!str', ' *x']) : '';
  if (depth > 0 && chance < 0.35)
    return `${property}${lineEnd(source)}${block(source, pick([more, more, more, indent]), depth - 1)}`;
  if (chance < 0.5) return `${property} ${flow(source, depth)}${lineEnd(source)}`;
  if (chance < 0.65) return `${property}${blockText(source, more)}`;
  return `${property} ${pick(words)}${lineEnd(source)}`;
}

function blockText({ random, pick }: Source, indent: number): string {
  const header = pick(['|', '>', '|-', '>-', '|+', '>+', '|2', '>1-', '|+1', '| # note', '|0']);
  const lines = Array.from({ length: Math.floor(random() * 5) }, () =>
    pick([
      '',
      '',
      ' '.repeat(indent),
      `${' '.repeat(indent)}${pick(['a', 'a b', ' more', '\ttab', '# no note', '- a', 'a: 1', 'a  ', '---'])}`,
      '  a',
      '\ta',
    ]),
  );
  return ` ${header}\n${lines.map((line) => `${line}\n`).join('')}`;
}

function flow(source: Source, depth: number): string {
  const { random, pick } = source;
  if (depth === 0 || random() < 0.4) return pick(words);
  const gap = pick(['', ' ', ' ', '\n   ', ' # note\n  ']);
  const parts = Array.from({ length: Math.floor(random() * 4) }, (_, index) => {
    const value = flow(source, depth - 1);
    return random() < 0.5 ? value : `${nameAt(index, source)}${pick([': ', ': ', ':', ' : '])}${value}`;
  });
  const end = random() < 0.1 ? ',' : '';
  return random() < 0.5 ? `[${gap}${parts.join(`,${gap}`)}${end}]` : `{${gap}${parts.join(`,${gap}`)}${end}}`;
}

/** One character put in, taken out or changed, a few times. */
function mutate(text: string, { random, pick }: Source): string {
  let mutated = text;
  for (let times = 1 + Math.floor(random() * 3); times > 0; times--) {
    const at = Math.floor(random() * (mutated.length + 1));
    const change = Math.floor(random() * 3);
    const added = change === 0 ? '' : pick([...bytes]);
    mutated = mutated.slice(0, at) + added + mutated.slice(change === 1 ? at : at + 1);
  }
  return mutated;
}
