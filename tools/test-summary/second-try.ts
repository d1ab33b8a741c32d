import type { TestReport } from './summary.ts';

/** More of them at once, of some four hundred, are no accident of a busy machine. */
const maxFiles = 6;

type FileReport = TestReport['testResults'][number];

/** The files that may be run once more, alone. Empty: none failed, or too many of them. */
export function filesToRepeat(reports: readonly TestReport[]): readonly string[] {
  const failed = reports.flatMap(({ testResults }) => testResults.filter(isFailed).map(({ name }) => name));
  return failed.length <= maxFiles ? failed : [];
}

/** The report as it is once the files that were run again have their second result. */
export function withSecondTry(report: TestReport, second: TestReport): TestReport {
  const again = new Map(second.testResults.map((file) => [file.name, file]));
  const testResults = report.testResults.map((file) => again.get(file.name) ?? file);
  const difference = (status: string): number =>
    countOf(testResults, status) - countOf(report.testResults, status);
  const wasFailed = report.testResults.some(isFailed);
  return {
    // A failure outside of the files has no second try.
    success: report.success || (wasFailed && !testResults.some(isFailed)),
    numPassedTests: report.numPassedTests + difference('passed'),
    numFailedTests: report.numFailedTests + difference('failed'),
    numPendingTests: report.numPendingTests + difference('skipped'),
    testResults,
  };
}

const isFailed = ({ status }: FileReport): boolean => status === 'failed';

const countOf = (files: readonly FileReport[], wanted: string): number =>
  files.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === wanted).length;
