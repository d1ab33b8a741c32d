import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { buildGoProgram } from '../../../lab/go/build-program.ts';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-actionlint-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('the workflows for a fork on GitHub are such that GitHub can run them', async () => {
  const program = path.join(folder, 'actionlint');
  const name = 'github.com/rhysd/actionlint/cmd/actionlint';
  const hasGo = await buildGoProgram(path.join(root, 'test/actionlint'), program, { package: name });
  expect(hasGo).toBe(true);
  const workflows = globSync('.github/workflows/*.yml', { cwd: root });
  expect(workflows.length).toBeGreaterThan(1);
  // Other linters would make the result depend on the machine.
  const { stdout } = await run(program, ['-shellcheck=', '-pyflakes=', ...workflows], { cwd: root });
  expect(stdout).toBe('');
});
