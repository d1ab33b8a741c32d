import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { version } from '../../src/version.ts';
import { notesFor, versionEdits } from './version-edits.ts';

const root = path.resolve(import.meta.dirname, '../..');
const inTree = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const next = '0.99.0';
const changelog = `# Changelog\n\n## ${next}, not released yet\n\n- New.\n\n## ${version}, 2026-01-01\n\n- Old.\n`;
const read = (file: string): string => (file === 'CHANGELOG.md' ? changelog : inTree(file));
const release = { present: version, next, date: '2026-12-01', read };

describe('a release', () => {
  it('changes the version wherever this tree says it, and leaves the old one nowhere in those files', () => {
    const edits = versionEdits(release);
    expect(edits.size).toBeGreaterThan(7);
    const others = [...edits].filter(([file]) => file !== 'CHANGELOG.md' && file !== 'package-lock.json');
    for (const [file, text] of others) {
      expect([file, text.includes(next)]).toEqual([file, true]);
      expect([file, text.includes(version)]).toEqual([file, false]);
    }
    const lock = JSON.parse(edits.get('package-lock.json') ?? '');
    expect([lock.version, lock.packages[''].version]).toEqual([next, next]);
  });

  it('dates its section of the changelog', () => {
    expect(versionEdits(release).get('CHANGELOG.md')).toContain(`## ${next}, 2026-12-01\n`);
  });

  it('needs a section in the changelog, a version that is one, and files that say the present one', () => {
    expect(() => versionEdits({ ...release, read: inTree })).toThrow(
      `CHANGELOG.md has no section "## ${next}`,
    );
    expect(() => versionEdits({ ...release, next: 'v1' })).toThrow('"v1" is no version');
    expect(() => versionEdits({ ...release, present: '9.9.9' })).toThrow('package.json does not say');
  });

  it('finds its notes, without those of other versions', () => {
    expect(notesFor(versionEdits(release).get('CHANGELOG.md') ?? '', next)).toBe('- New.');
  });
});
