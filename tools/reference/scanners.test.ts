import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  accessKeyBytes,
  accessKeyScannerPattern,
  generateAccessKey,
} from '../../src/credentials/keys/access-key.ts';
import { readDocument } from './document.ts';

const page = readDocument('docs/reference/scanners.md');

describe('docs/reference/scanners.md', () => {
  it('has the pattern of the code', () => {
    expect(page).toContain(`\`\`\`regex\n${accessKeyScannerPattern}\n\`\`\``);
  });

  it('is in line with SECURITY.md', () => {
    expect(readDocument('SECURITY.md')).toContain(`\`${accessKeyScannerPattern}\``);
  });

  it('has a pattern that finds a generated key inside other text', () => {
    const key = generateAccessKey(randomBytes(accessKeyBytes));
    const pattern = new RegExp(/```regex\n(.+)\n```/.exec(page)?.[1] ?? '$^');
    expect(pattern.exec(`token: "${key}",`)?.[0]).toBe(key);
    expect(pattern.test(`${key}0`)).toBe(false);
  });
});
