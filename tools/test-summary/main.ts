import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { summarize, type TestReport } from './summary.ts';

// main.ts [--stray-errors <file>] <report>…
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'stray-errors': { type: 'string' } },
});
const missing: string[] = [];
const reports = positionals.flatMap((file): readonly TestReport[] => {
  try {
    return [JSON.parse(readFileSync(file, 'utf8'))];
  } catch {
    missing.push(`${file}: no report, so these tests did not run to their end`);
    return [];
  }
});
const strayErrors = values['stray-errors'];
const stray =
  strayErrors !== undefined && existsSync(strayErrors)
    ? readFileSync(strayErrors, 'utf8').trimEnd().split('\n')
    : [];

const { line, problems, failures } = summarize(reports);
const all = [...missing, ...stray.map((text) => `caught by no test: ${text}`), ...problems];
for (const text of [...failures, ...all]) console.log(text);
console.log(line);
const passed = reports.length > 0 && reports.every(({ success }) => success) && all.length === 0;
process.exitCode = passed ? 0 : 1;
