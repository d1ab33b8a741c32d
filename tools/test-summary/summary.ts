/** The parts of vitest's JSON report that say how a run ended. */
export interface TestReport {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

export interface Summary {
  /** `N passed, N failed` */
  readonly line: string;
  /** Why the run does not count as passed; empty when it does. */
  readonly problems: readonly string[];
  /** Each failed test with the first line of its message, so that the end of a long log says what failed. */
  readonly failures: readonly string[];
}

/**
 * Adds up the reports of all lanes. A file that cannot be loaded, or whose set-up fails, counts as one failed test: vitest
 * counts none for it.
 */
export function summarize(reports: readonly TestReport[]): Summary {
  const parts = reports.map(judge);
  const sum = (part: (judgement: Judgement) => number): number =>
    parts.reduce((total, judgement) => total + part(judgement), 0);
  return {
    line: `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed`,
    problems: parts.flatMap(({ problems }) => problems),
    failures: reports.flatMap(failuresOf),
  };
}

interface Judgement {
  readonly passed: number;
  readonly failed: number;
  readonly problems: readonly string[];
}

function judge(report: TestReport): Judgement {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((result) => result.status !== 'failed'),
  );
  const passed = report.numPassedTests;
  const failed = report.numFailedTests + broken.length;
  const problems = [
    ...broken.map(({ name }) => `${name} could not be run`),
    ...(passed + failed === 0 ? ['no test ran'] : []),
    ...(report.numPendingTests > 0 ? [`${report.numPendingTests} tests were skipped`] : []),
    ...(report.success || failed > 0 ? [] : ['vitest reports a failure outside of the tests']),
  ];
  return { passed, failed, problems };
}

function failuresOf({ testResults }: TestReport): readonly string[] {
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(
        ({ fullName, failureMessages }) =>
          `${name} > ${fullName}: ${failureMessages?.[0]?.split('\n', 1)[0]}`,
      ),
  );
}
