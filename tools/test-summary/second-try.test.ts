import { describe, expect, it } from 'vitest';
import { filesToRepeat, withSecondTry } from './second-try.ts';
import type { TestReport } from './summary.ts';

const file = (name: string, ...results: readonly string[]) => ({
  name,
  status: results.includes('failed') ? 'failed' : 'passed',
  assertionResults: results.map((status) => ({ status, fullName: `is ${status}` })),
});

function reportOf(...testResults: TestReport['testResults']): TestReport {
  const count = (wanted: string) =>
    testResults.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === wanted)
      .length;
  return {
    success: testResults.every(({ status }) => status === 'passed'),
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('skipped'),
    testResults,
  };
}

const green = file('a', 'passed', 'passed');
const red = file('b', 'passed', 'failed');

describe('files to repeat', () => {
  const failed = ['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => file(name, 'failed'));

  it.each<[string, readonly TestReport[], readonly string[]]>([
    ['are none of a green run', [reportOf(green)], []],
    [
      'are those that failed, of all lanes',
      [reportOf(green, red), reportOf(file('c', 'failed'))],
      ['b', 'c'],
    ],
    ['may be six', [reportOf(green, ...failed.slice(1))], ['c', 'd', 'e', 'f', 'g', 'h']],
    ['are none when more failed', [reportOf(...failed)], []],
  ])('%s', (_, reports, files) => {
    expect(filesToRepeat(reports)).toEqual(files);
  });
});

describe('a second try', () => {
  it('takes the place of the first', () => {
    const better = withSecondTry(reportOf(green, red), reportOf(file('b', 'passed', 'passed')));
    expect(better).toEqual(reportOf(green, file('b', 'passed', 'passed')));
    const worse = withSecondTry(reportOf(green, red), reportOf(file('b', 'failed', 'failed')));
    expect(worse).toEqual(reportOf(green, file('b', 'failed', 'failed')));
  });

  it('that ran fewer tests does not hide those that were skipped', () => {
    const second = withSecondTry(reportOf(green, red), reportOf(file('b', 'passed', 'skipped')));
    expect(second).toMatchObject({ numPassedTests: 3, numFailedTests: 0, numPendingTests: 1 });
  });

  it('changes nothing in a lane that it did not run', () => {
    const lane = reportOf(green, red);
    expect(withSecondTry(lane, reportOf(file('other', 'passed')))).toEqual(lane);
    expect(withSecondTry(reportOf(green), reportOf(file('b', 'passed')))).toEqual(reportOf(green));
  });

  it('does not excuse a failure outside of the files', () => {
    const strayRejection = { ...reportOf(green), success: false };
    expect(withSecondTry(strayRejection, reportOf(file('b', 'passed'))).success).toBe(false);
  });
});
