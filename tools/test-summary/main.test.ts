import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-summary-'));
afterAll(() => rmSync(folder, { recursive: true }));

const test = (status: string) => ({
  name: 'a.test.ts',
  status,
  assertionResults: [{ status, fullName: 'does' }],
});
const green = {
  success: true,
  numPassedTests: 2,
  numFailedTests: 0,
  numPendingTests: 0,
  testResults: [test('passed')],
};
const red = { ...green, success: false, numFailedTests: 1, testResults: [test('failed')] };

interface Ended {
  readonly code: unknown;
  readonly last: string | undefined;
  readonly before: readonly string[];
}

function summary(options: readonly string[], ...contents: readonly (string | undefined)[]) {
  const files = contents.map((content, i) => {
    const file = path.join(folder, `${i}.json`);
    rmSync(file, { force: true });
    if (content !== undefined) writeFileSync(file, content);
    return file;
  });
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const main = path.join(import.meta.dirname, 'main.ts');
  execFile(process.execPath, [main, ...options, ...files], (error, stdout) => {
    const lines = stdout.trimEnd().split('\n');
    resolve({ code: error?.code ?? 0, last: lines.at(-1), before: lines.slice(0, -1) });
  });
  return promise;
}

it.each<[string, readonly (string | undefined)[], number, string]>([
  ['two green lanes', [JSON.stringify(green), JSON.stringify(green)], 0, '4 passed, 0 failed'],
  ['a red lane beside a green one', [JSON.stringify(green), JSON.stringify(red)], 1, '4 passed, 1 failed'],
  ['a lane without a report', [JSON.stringify(green), undefined], 1, '2 passed, 0 failed'],
  ['a report that was cut off', [JSON.stringify(green), '{"success":tr'], 1, '2 passed, 0 failed'],
  ['no lane at all', [], 1, '0 passed, 0 failed'],
])('sums up %s', async (_, contents, code, last) => {
  expect(await summary([], ...contents)).toMatchObject({ code, last });
});

it('tells of a failure whose second try passed, and counts the second', async () => {
  const again = path.join(folder, 'again.json');
  writeFileSync(again, JSON.stringify({ ...green, testResults: [test('passed')] }));
  const { code, last, before } = await summary(['--again', again], JSON.stringify(red));
  expect({ code, last }).toEqual({ code: 0, last: '3 passed, 0 failed' });
  expect(before).toEqual(['first try, beside other tests: a.test.ts > does: undefined']);
});

it('fails for a second try without a report, and for an error that no test caught', async () => {
  const none = path.join(folder, 'none.json');
  expect(await summary(['--again', none], JSON.stringify(red))).toMatchObject({ code: 1 });
  const stray = path.join(folder, 'stray.txt');
  writeFileSync(stray, 'Error: boom\n');
  expect(await summary(['--stray-errors', stray], JSON.stringify(green))).toMatchObject({
    code: 1,
    before: ['caught by no test: Error: boom'],
  });
});
