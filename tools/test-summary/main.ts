import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readReports } from './read-reports.ts';
import { withSecondTry } from './second-try.ts';
import { summarize } from './summary.ts';

// main.ts [--again <report>] [--stray-errors <file>] <report>…
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: 'string' }, 'stray-errors': { type: 'string' } },
});
const first = readReports(positionals);
const second = readReports(values.again === undefined ? [] : [values.again]);
const reports = second.reports.reduce(
  (all, again) => all.map((report) => withSecondTry(report, again)),
  first.reports,
);
const strayErrors = values['stray-errors'];
const stray =
  strayErrors !== undefined && existsSync(strayErrors)
    ? readFileSync(strayErrors, 'utf8').trimEnd().split('\n')
    : [];

const { line, problems, failures } = summarize(reports);
const all = [
  ...first.missing,
  ...second.missing,
  ...stray.map((text) => `caught by no test: ${text}`),
  ...problems,
];
if (second.reports.length > 0) {
  for (const text of summarize(first.reports).failures) console.log(`first try, beside other tests: ${text}`);
}
for (const text of [...failures, ...all]) console.log(text);
console.log(line);
const passed = reports.length > 0 && reports.every(({ success }) => success) && all.length === 0;
process.exitCode = passed ? 0 : 1;
