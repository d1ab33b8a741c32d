import { type ErrorCode, errorCatalogue, exitCodes } from '../../src/errors.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/errors.md */
export function errorsPage(): string {
  return page('Errors and exit codes', 'src/errors.ts', [
    'Here you look up what an error code means and what you do about it.',
    'In 60 seconds: take `err.code` from the log line, find it in the table, and do what the last column says. A process that ends by itself has one of the exit codes below.',
    'Every error that Latchkey raises on purpose has a code that does not change. Names in braces are filled in.',
    table(
      ['Code', 'Message', 'Exit code', 'HTTP status', 'What to do'],
      (Object.keys(errorCatalogue) as ErrorCode[]).map(row),
    ),
    'Exit codes of the process:',
    table(
      ['Exit code', 'Meaning'],
      [
        [String(exitCodes.success), 'The command did its work, or stopped in order after SIGINT or SIGTERM.'],
        [String(exitCodes.failure), 'The command failed while it ran.'],
        [String(exitCodes.usage), 'The command line or a setting is wrong: starting it again does not help.'],
      ],
    ),
  ]);
}

function row(name: ErrorCode): readonly string[] {
  const entry = errorCatalogue[name];
  const exitCode = 'exitCode' in entry ? String(entry.exitCode) : '';
  const status = 'httpStatus' in entry ? String(entry.httpStatus) : '';
  return [code(name), code(entry.message.replaceAll('\n', ' ')), exitCode, status, entry.fix];
}
