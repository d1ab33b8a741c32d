/** The parts of vitest's JSON report that say how a run ended. */
export interface TestReport {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

export interface Summary {
  /** `N passed, N failed` */
  readonly line: string;
  /** Why the run does not count as passed; empty when it does. */
  readonly problems: readonly string[];
}

/** A file that cannot be loaded, or whose set-up fails, counts as one failed test: vitest counts none for it. */
export function summarize(report: TestReport): Summary {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((result) => result.status !== 'failed'),
  );
  const failed = report.numFailedTests + broken.length;
  return {
    line: `${report.numPassedTests} passed, ${failed} failed`,
    problems: [
      ...broken.map(({ name }) => `${name} could not be run`),
      ...(report.numPassedTests + failed === 0 ? ['no test ran'] : []),
      ...(report.numPendingTests > 0 ? [`${report.numPendingTests} tests were skipped`] : []),
      ...(report.success || failed > 0 ? [] : ['vitest reports a failure outside of the tests']),
    ],
  };
}
