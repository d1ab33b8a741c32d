import { expect, it } from 'vitest';
import { keyOf, parseKey } from './object.ts';

it.each([
  [{ name: 'a' }, 'a'],
  [{ namespace: 'ns', name: 'a' }, 'ns/a'],
])('turns %j into the key %s and back', (object, key) => {
  expect(keyOf(object)).toBe(key);
  expect(parseKey(key)).toEqual(object);
});

it('takes an empty namespace for none', () => {
  expect(keyOf({ namespace: '', name: 'a' })).toBe('a');
});
