import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Reporter } from 'vitest/node';

/** One line for each error that no test caught. vitest's JSON report does not hold them. */
export const strayErrorsFile = 'coverage/stray-errors.txt';

type StrayErrors = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1];

/** Writes them down for the summary. */
export class StrayErrorReporter implements Reporter {
  onTestRunEnd(_modules: unknown, errors: StrayErrors): void {
    if (errors.length === 0) return;
    mkdirSync(path.dirname(strayErrorsFile), { recursive: true });
    const lines = errors.map(({ name, message }) => `${name}: ${message.split('\n', 1)[0]}\n`);
    appendFileSync(strayErrorsFile, lines.join(''));
  }
}
