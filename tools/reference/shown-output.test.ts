import { describe, expect, it } from 'vitest';
import { isAsShown } from './shown-output.ts';

const table = (id: string, age: string, ready = 'True') =>
  `NAME   SUBJECT   EXPIRES                READY   AGE   KEY ID\nci     alice     2026-12-22T03:26:46Z   ${ready}    ${age}   ${id}\n`;
const shown = table('07f67ecca7ade8b8', '1s');

describe('the output of a command', () => {
  it.each([
    ['with another age and another hash', shown, table('9d41c0a7f5be2386', '1m30s')],
    ['with wider columns', 'NAME   AGE\nci     1s\n', 'NAME             AGE\nci               2d\n'],
    ['with another UID and port', 'a https://127.0.0.1:1', 'a https://127.0.0.1:65535\n'],
    [
      'that goes on where the page stops',
      '{\n  "major": "1",\n  …\n',
      '{\n  "major": "1",\n  "minor": "36"\n}\n',
    ],
    ['with another key, whose name begins with a dash', `${'a'.repeat(43)}.pem`, `-${'b'.repeat(42)}.pem`],
    ['of which the page leaves out the middle', 'Error: … write {}', 'Error: on "STDIN": write {}'],
  ])('%s is as shown', (_, page, said) => {
    expect(isAsShown(page, said)).toBe(true);
  });

  it.each([
    ['with another state', shown, table('07f67ecca7ade8b8', '1s', 'False')],
    ['with another column', 'NAME   AGE\nci     1s\n', 'NAME   READY   AGE\nci     True    1s\n'],
    ['with one more line', shown, `${shown}other   alice\n`],
    ['without an age', 'NAME   AGE\nci     1s\n', 'NAME   AGE\nci     <none>\n'],
    ['with a warning before it', 'a created\n', 'Warning: no end\na created\n'],
    ['that is empty', 'a created\n', ''],
    ['where a dot is no dot', 'a.b', 'a-b'],
  ])('%s is not', (_, page, said) => {
    expect(isAsShown(page, said)).toBe(false);
  });
});
