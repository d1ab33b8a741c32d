import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-summary-'));
afterAll(() => rmSync(folder, { recursive: true }));

const test = (status: string) => ({ name: 'a.test.ts', status, assertionResults: [{ status }] });
const green = {
  success: true,
  numPassedTests: 2,
  numFailedTests: 0,
  numPendingTests: 0,
  testResults: [test('passed')],
};
const red = { ...green, success: false, numFailedTests: 1, testResults: [test('failed')] };

function summary(...contents: readonly (string | undefined)[]) {
  const files = contents.map((content, i) => {
    const file = path.join(folder, `${i}.json`);
    rmSync(file, { force: true });
    if (content !== undefined) writeFileSync(file, content);
    return file;
  });
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; last: string | undefined }>();
  execFile(process.execPath, [path.join(import.meta.dirname, 'main.ts'), ...files], (error, stdout) =>
    resolve({ code: error?.code ?? 0, last: stdout.trimEnd().split('\n').at(-1) }),
  );
  return promise;
}

it.each<[string, readonly (string | undefined)[], number, string]>([
  ['two green lanes', [JSON.stringify(green), JSON.stringify(green)], 0, '4 passed, 0 failed'],
  ['a red lane beside a green one', [JSON.stringify(green), JSON.stringify(red)], 1, '4 passed, 1 failed'],
  ['a lane without a report', [JSON.stringify(green), undefined], 1, '2 passed, 0 failed'],
  ['a report that was cut off', [JSON.stringify(green), '{"success":tr'], 1, '2 passed, 0 failed'],
  ['no lane at all', [], 1, '0 passed, 0 failed'],
])('sums up %s', async (_, contents, code, last) => {
  expect(await summary(...contents)).toEqual({ code, last });
});
