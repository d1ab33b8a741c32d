import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readArguments } from './arguments.ts';

it.each([
  [[], { once: false, verbose: false, help: false }],
  [['--once'], { once: true, verbose: false, help: false }],
  [['--once', '--verbose'], { once: true, verbose: true, help: false }],
  [['--help'], { once: false, verbose: false, help: true }],
  [['--once', 'twice'], { problem: 'unknown argument "twice"' }],
])('reads %j', (args, expected) => {
  expect(readArguments(args)).toEqual(expected);
});

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-arguments-'));
afterAll(() => rmSync(folder, { recursive: true }));
const reader = path.join(import.meta.dirname, 'arguments.ts');
const program = `import { readArguments } from '${reader}';
console.log(JSON.stringify(readArguments(process.argv.slice(2), process.env)));
`;

it.each([
  [['--once'], true],
  [['--', '--once'], true],
  [[], false],
  [['--no-once'], false],
])('means the same whether npm takes the flag or passes it on: npm run demo %j', (flags, once) => {
  writeFileSync(path.join(folder, 'read.mjs'), program);
  const scripts = { demo: `"${process.execPath}" read.mjs` };
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name: 'x', scripts }));
  const { npm_config_once: _ours, ...env } = process.env;
  const args = ['run', '--silent', 'demo', ...flags];
  const output = execFileSync('npm', args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
  expect(JSON.parse(output)).toEqual({ once, verbose: false, help: false });
});
