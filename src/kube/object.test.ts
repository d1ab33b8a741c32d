import { expect, it } from 'vitest';
import { isNewerVersion, keyOf, parseKey, uidOf } from './object.ts';

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

it.each([
  [{ metadata: { uid: 'a' } }, 'a'],
  [{ metadata: { uid: '' } }, undefined],
  [{ metadata: { uid: 7 } }, undefined],
  [{ metadata: ['uid'] }, undefined],
  [{}, undefined],
  [null, undefined],
  [undefined, undefined],
])('the UID of %j is %s', (sent, uid) => {
  expect(uidOf(sent)).toBe(uid);
});

it.each([
  ['99', '100', false],
  ['100', '99', true],
  ['100', '100', false],
  ['100', '101', false],
  ['101', '100', true],
  ['9007199254740993', '9007199254740992', true],
])('%s is newer than %s: %s', (version, than, expected) => {
  expect(isNewerVersion(version, than)).toBe(expected);
});
