import { describe, expect, it } from 'vitest';
import { renderReport, renderSection } from './report.ts';

const section = {
  title: 'token-issue',
  about: 'Signs tokens.',
  table: '| a |\n| --- |',
  notes: ['One.', 'Two.'],
};

describe('the results', () => {
  it('show one benchmark with its notes', () => {
    expect(renderSection(section)).toBe(
      '## token-issue\n\nSigns tokens.\n\n| a |\n| --- |\n\n- One.\n- Two.\n',
    );
    expect(renderSection({ ...section, notes: [] })).toBe(
      '## token-issue\n\nSigns tokens.\n\n| a |\n| --- |\n',
    );
  });

  it('say when, how and on what they were measured', () => {
    const report = { date: '2026-01-31', command: 'npm run bench', facts: ['2 cores'], sections: [section] };
    const page = renderReport(report);
    expect(page).toMatch(/^# Benchmarks of 2026-01-31\n\n`npm run bench`\n\n- 2 cores\n/);
    expect(page).toContain('\n\n## token-issue\n\n');
    expect(page.endsWith('- Two.\n')).toBe(true);
  });
});
