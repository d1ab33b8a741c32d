import { type ReasonText, reasonTexts } from '../../src/api/reason-texts.ts';
import { type Reason, reasons } from '../../src/api/reasons.ts';
import { errorCatalogue, exitCodes } from '../../src/error-catalogue.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { policyErrors } from '../policies/policy-errors.ts';
import { code, page, table } from './markdown.ts';

const head = ['Name', 'Where', 'What it means', 'What you do'];

/** docs/reference/reasons.md */
export function reasonsPage(): string {
  const sources = 'src/api/reason-texts.ts, src/errors.ts and tools/policies/policy-errors.ts';
  return page('Reasons and codes', sources, [
    'Here you look up a reason of a condition or an event, or a code of an error, and what you do about it.',
    'In 60 seconds: search this page for the name that you see. `kubectl describe` shows the reason of the condition `Ready`, and the events. A log line has the code in `err.code`, a refusal of the gateway in `details.causes`. [Conditions and events](status.md) says how both behave.',
    '## Reasons',
    'If `Ready` is `False`, `Stalled` or `Reconciling` repeats the reason. "Normal" and "Warning" are types of events, and the word behind them is their action.',
    table(
      head,
      Object.values(reasons).map((reason) => reasonRow(reason, reasonTexts[reason])),
    ),
    '## Errors',
    'Every error that Latchkey raises on purpose has a code that does not change. Names in braces are filled in.',
    table(head, (Object.keys(errorCatalogue) as ErrorCode[]).map(errorRow)),
    '## Refusals by admission policies',
    'The API server itself refuses, with 403 or 422, also while Latchkey is down. Its message begins with the object and the policy, then comes the field. It ends with who asked, about which object, and the code:',
    '```\nspec.secretRef: you need the verbs … (requester "bob", Secret "payments/till", code ERR_POLICY_SECRET_RIGHTS)\n```',
    table(
      head,
      Object.entries(policyErrors).map(([name, { message, fix }]) => [
        code(name),
        'policy',
        code(message),
        fix,
      ]),
    ),
    '## Exit codes',
    table(
      ['Exit code', 'What it means'],
      [
        [String(exitCodes.success), 'The command did its work, or stopped in order after SIGINT or SIGTERM.'],
        [String(exitCodes.failure), 'The command failed while it ran.'],
        [String(exitCodes.usage), 'The command line or a setting is wrong: starting it again does not help.'],
      ],
    ),
  ]);
}

function reasonRow(reason: Reason, { condition, event, meaning, fix }: ReasonText): readonly string[] {
  const inEvents = event === undefined ? [] : [`${event.type} ${event.actions.map(code).join(', ')}`];
  const places = [...(condition === undefined ? [] : [condition]), ...inEvents];
  return [code(reason), places.join('; ') || 'event', meaning, fix ?? 'Nothing.'];
}

function errorRow(name: ErrorCode): readonly string[] {
  const entry = errorCatalogue[name];
  const exit = 'exitCode' in entry ? [`exit code ${entry.exitCode}`] : [];
  const status = 'httpStatus' in entry ? [`HTTP ${entry.httpStatus}`] : [];
  const where = [...status, ...exit].join(', ') || 'log';
  return [code(name), where, code(entry.message.replaceAll('\n', ' ')), entry.fix];
}
