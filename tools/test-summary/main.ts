import { existsSync, readFileSync } from 'node:fs';
import { summarize, type TestReport } from './summary.ts';

const [file = 'coverage/test-report.json'] = process.argv.slice(2);

const empty: TestReport = {
  success: false,
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  testResults: [],
};

const report: TestReport = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : empty;
const { line, problems } = summarize(report);
for (const problem of problems) console.log(problem);
console.log(line);
process.exitCode = report.success && problems.length === 0 ? 0 : 1;
