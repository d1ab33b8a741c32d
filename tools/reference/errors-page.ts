import { errorCatalogue, exitCodes } from '../../src/error-catalogue.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { policyErrors } from '../policies/policy-errors.ts';
import { code, page, table } from './markdown.ts';

/** docs/reference/errors.md */
export function errorsPage(): string {
  return page('Errors and exit codes', 'src/error-catalogue.ts and tools/policies/policy-errors.ts', [
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
    '## Refusals by admission policies',
    'The API server itself refuses what an admission policy does not allow, with 403 or 422, also while Latchkey is down. Its message begins with the object and the policy, then comes the field. It ends with who asked, what it is about, and the code:',
    '```\nspec.secretRef: you need the verbs … (requester "bob", Secret "payments/till", code ERR_POLICY_SECRET_RIGHTS)\n```',
    'So the code of a policy stands in the text of the message. A refusal by the gateway has its code in `details.causes`.',
    table(
      ['Code', 'Message', 'What to do'],
      Object.entries(policyErrors).map(([name, { message, fix }]) => [code(name), code(message), fix]),
    ),
  ]);
}

function row(name: ErrorCode): readonly string[] {
  const entry = errorCatalogue[name];
  const exitCode = 'exitCode' in entry ? String(entry.exitCode) : '';
  const status = 'httpStatus' in entry ? String(entry.httpStatus) : '';
  return [code(name), code(entry.message.replaceAll('\n', ' ')), exitCode, status, entry.fix];
}
