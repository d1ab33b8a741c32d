import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { version } from './version.ts';

it('is the version of package.json', () => {
  const { version: expected } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(version).toBe(expected);
});
