import { readFileSync } from 'node:fs';
import { summarize, type TestReport } from './summary.ts';

const missing: string[] = [];
const reports = process.argv.slice(2).flatMap((file): readonly TestReport[] => {
  try {
    return [JSON.parse(readFileSync(file, 'utf8'))];
  } catch {
    missing.push(`${file}: no report, so these tests did not run to their end`);
    return [];
  }
});
const { line, problems, failures } = summarize(reports);
const all = [...missing, ...problems];
for (const text of [...failures, ...all]) console.log(text);
console.log(line);
const passed = reports.length > 0 && reports.every(({ success }) => success) && all.length === 0;
process.exitCode = passed ? 0 : 1;
