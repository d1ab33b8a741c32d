import { describe, expect, it } from 'vitest';
import { isEmulated, servedVersion } from './served-version.ts';

const plain = { major: '1', minor: '36', gitVersion: 'v1.36.3' };
const emulated = { ...plain, emulationMajor: '1', emulationMinor: '35', minCompatibilityMinor: '34' };

describe('servedVersion', () => {
  it.each<[string, unknown, number, number]>([
    ['of an API server that says no more', plain, 1, 36],
    ['of a vendor with a plus', { major: '1', minor: '36+' }, 1, 36],
    ['that is emulated', emulated, 1, 35],
    ['that is emulated as itself', { ...plain, emulationMajor: '1', emulationMinor: '36' }, 1, 36],
  ])('is the version %s', (_, answer, major, minor) => {
    expect(servedVersion(answer)).toEqual({ major, minor });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['text', 'hello'],
    ['words', { major: 'one', minor: 'two' }],
    ['numbers too long', { major: '10000', minor: '99999' }],
    ['an emulation that cannot be read', { ...plain, emulationMajor: '', emulationMinor: 'x' }],
  ])('is no number where the answer is %s', (_, answer) => {
    expect(servedVersion(answer)).toEqual({ major: Number.NaN, minor: Number.NaN });
  });
});

describe('isEmulated', () => {
  it('is true only for another version than that of the program', () => {
    expect(isEmulated(emulated)).toBe(true);
    expect(isEmulated(plain)).toBe(false);
    expect(isEmulated({ ...plain, emulationMajor: '1', emulationMinor: '36' })).toBe(false);
  });
});
