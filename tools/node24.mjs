// Plain JavaScript that Node 20 reads: it finds a Node 24 and runs a tool of node_modules with it.
// node_modules/.bin/node is never used: with two platform packages installed, several npm versions delete it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const minimum = [24, 9];
const packages = fileURLToPath(new URL('../node_modules', import.meta.url));
const packageOf = { tsc: 'typescript', biome: '@biomejs/biome' };

function fail(message, exitCode = 1) {
  console.error(message);
  process.exit(exitCode);
}

function isRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > minimum[0] || (major === minimum[0] && minor >= minimum[1]);
}

function findNode() {
  if (isRecent(process.versions.node)) return process.execPath;
  const name = `node-${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/node`);
  } catch {
    return fail(
      `Latchkey needs Node ${minimum.join('.')} or newer; this is ${process.versions.node} and the package ${name} is not installed. Install Node 24 and run the command again.`,
    );
  }
}

/** Read from the folder, not resolved: the `exports` of several packages hide their package.json. */
function toolPath(tool) {
  if (tool === 'node') return [];
  const folder = path.join(packages, packageOf[tool] ?? tool);
  const manifest = path.join(folder, 'package.json');
  if (!existsSync(manifest)) return fail(`no tool ${tool} in node_modules: run npm ci first`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  const entry = typeof bin === 'string' ? bin : bin?.[tool];
  return entry === undefined
    ? fail(`the package of ${tool} has no such command`)
    : [path.join(folder, entry)];
}

function run(tool, rest) {
  if (!existsSync(packages)) fail('there is no node_modules: run npm ci first');
  const node = findNode();
  const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH ?? ''}` };
  const child = spawn(node, [...toolPath(tool), ...rest], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`cannot start ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
  });
}

const [tool, ...rest] = process.argv.slice(2);
if (tool === undefined) fail('usage: node tools/node24.mjs <node | tool of node_modules> [arguments]', 2);
run(tool, rest);
