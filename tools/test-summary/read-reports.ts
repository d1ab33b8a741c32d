import { readFileSync } from 'node:fs';
import type { TestReport } from './summary.ts';

/** Reads reports, with a line about each that cannot be read. */
export function readReports(files: readonly string[]): {
  readonly reports: readonly TestReport[];
  readonly missing: readonly string[];
} {
  const missing: string[] = [];
  const reports = files.flatMap((file): readonly TestReport[] => {
    try {
      return [JSON.parse(readFileSync(file, 'utf8'))];
    } catch {
      missing.push(`${file}: no report, so these tests did not run to their end`);
      return [];
    }
  });
  return { reports, missing };
}
