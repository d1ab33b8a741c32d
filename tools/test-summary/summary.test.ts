import { describe, expect, it } from 'vitest';
import { summarize, type TestReport } from './summary.ts';

const reportOf = (changes: Partial<TestReport> = {}): TestReport => ({
  success: true,
  numPassedTests: 2,
  numFailedTests: 0,
  numPendingTests: 0,
  testResults: [
    { name: 'a.test.ts', status: 'passed', assertionResults: [{ status: 'passed', fullName: 'passes' }] },
  ],
  ...changes,
});

const file = (status: string, ...results: readonly string[]) => ({
  name: 'b.test.ts',
  status,
  assertionResults: results.map((status) => ({
    status,
    fullName: `is ${status}`,
    failureMessages: status === 'failed' ? ['AssertionError: expected 1 to be 2\n    at somewhere'] : [],
  })),
});

describe('summarize', () => {
  it.each<[string, Partial<TestReport>, string, readonly string[]]>([
    ['a run without failure', {}, '2 passed, 0 failed', []],
    [
      'a failed test',
      { success: false, numFailedTests: 1, testResults: [file('failed', 'passed', 'failed')] },
      '2 passed, 1 failed',
      [],
    ],
    [
      'a file that cannot be loaded',
      { success: false, testResults: [file('failed')] },
      '2 passed, 1 failed',
      ['b.test.ts could not be run'],
    ],
    [
      'a file whose set-up fails',
      { success: false, numPendingTests: 1, testResults: [file('failed', 'skipped')] },
      '2 passed, 1 failed',
      ['b.test.ts could not be run', '1 tests were skipped'],
    ],
    [
      'a run without tests',
      { success: false, numPassedTests: 0, testResults: [] },
      '0 passed, 0 failed',
      ['no test ran', 'vitest reports a failure outside of the tests'],
    ],
    ['a skipped test', { numPendingTests: 1 }, '2 passed, 0 failed', ['1 tests were skipped']],
    [
      'a stray rejection',
      { success: false },
      '2 passed, 0 failed',
      ['vitest reports a failure outside of the tests'],
    ],
  ])('sums up %s', (_, changes, line, problems) => {
    expect(summarize([reportOf(changes)])).toMatchObject({ line, problems });
  });

  it('adds up the lanes, and a lane without tests does not hide behind another', () => {
    const lanes = [reportOf(), reportOf({ success: false, numPassedTests: 3, numFailedTests: 1 })];
    expect(summarize(lanes)).toMatchObject({ line: '5 passed, 1 failed', problems: [] });
    const empty = reportOf({ success: false, numPassedTests: 0, testResults: [] });
    expect(summarize([reportOf(), empty])).toMatchObject({
      line: '2 passed, 0 failed',
      problems: ['no test ran', 'vitest reports a failure outside of the tests'],
    });
  });

  it('names each failed test with the first line of its message', () => {
    const red = reportOf({ success: false, testResults: [file('failed', 'passed', 'failed')] });
    expect(summarize([red]).failures).toEqual(['b.test.ts > is failed: AssertionError: expected 1 to be 2']);
    expect(summarize([reportOf()]).failures).toEqual([]);
  });
});
