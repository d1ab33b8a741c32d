import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

const imports = 'lint/style/noRestrictedImports';
const cycles = 'lint/suspicious/noImportCycles';
const restricted = 'lint/nursery/noJsRestrictedProperties';
const floating = 'lint/nursery/noFloatingPromises';
const misused = 'lint/nursery/noMisusedPromises';

const use = (from: string) => `import { a } from '${from}';\nexport const b = a;\n`;
const lines = (count: number) => 'Math.random();\n'.repeat(count);

/** One file each: its path, its text, the rule that must refuse it (undefined: none may). */
const cases: readonly (readonly [file: string, text: string, rule: string | undefined])[] = [
  ['src/api/up.ts', use('../errors.ts'), imports],
  ['src/api/to-logger.ts', use('../logger.ts'), imports],
  ['src/api/to-cidr.ts', use('../cidr.ts'), imports],
  ['src/api/to-version.ts', use('../version.ts'), imports],
  ['src/page/to-api.js', use('../api/names.ts'), imports],
  ['src/page/to-node.js', use('node:fs'), imports],
  ['src/page/fine.js', use('./words.js'), undefined],
  ['src/kube/to-operator.ts', use('../operator/x.ts'), imports],
  ['src/kube/to-credentials.ts', use('../credentials/x.ts'), imports],
  ['src/kube/to-scope.ts', use('../scope/x.ts'), imports],
  ['src/kube/to-telemetry.ts', use('../telemetry/log.ts'), imports],
  ['src/kube/to-settings.ts', use('../settings/common.ts'), imports],
  ['src/kube/dynamic.ts', "export const a = await import('../operator/x.ts');\n", imports],
  ['src/kube/again.ts', "export * from '../platform/x.ts';\n", imports],
  ['src/kube/type.ts', "import type { A } from '../scope/x.ts';\nexport type B = A;\n", imports],
  ['src/credentials/to-kube.ts', use('../kube/x.ts'), imports],
  ['src/credentials/to-scope.ts', use('../scope/x.ts'), imports],
  ['src/scope/to-credentials.ts', use('../credentials/x.ts'), imports],
  ['src/scope/deep/to-kube.ts', use('../../kube/x.ts'), imports],
  ['src/platform/to-operator.ts', use('../operator/x.ts'), imports],
  ['src/platform/to-audit.ts', use('../audit/x.ts'), imports],
  ['src/audit/to-platform.ts', use('../platform/x.ts'), imports],
  ['src/audit/to-gateway.ts', use('../gateway/x.ts'), imports],
  ['src/audit/to-telemetry.ts', use('../telemetry/redaction.ts'), imports],
  ['src/audit/fine.ts', use('../kube/x.ts'), undefined],
  ['src/gateway/fine-audit.ts', use('../audit/x.ts'), undefined],
  ['src/operator/to-gateway.ts', use('../gateway/x.ts'), imports],
  ['src/operator/controllers/token/to-gateway.ts', use('../../../gateway/x.ts'), imports],
  ['src/operator/to-commands.ts', use('../commands/operator.ts'), imports],
  [
    'src/operator/make-log.ts',
    "import { createLogger } from '../telemetry/log.ts';\nexport const b = createLogger;\n",
    imports,
  ],
  ['src/operator/read-settings.ts', use('../settings/read.ts'), imports],
  [
    'src/operator/fine-settings.ts',
    "import type { OperatorSettings } from '../settings/operator.ts';\nexport type B = OperatorSettings;\n",
    undefined,
  ],
  ['src/process/to-operator.ts', use('../operator/x.ts'), imports],
  ['src/process/to-platform.ts', use('../platform/x.ts'), imports],
  ['src/operator/to-process.ts', use('../process/x.ts'), imports],
  ['src/settings/to-kube.ts', use('../kube/x.ts'), imports],
  ['src/operator/process.ts', "import { exit } from 'node:process';\nexport const b = exit;\n", imports],
  ['src/gateway/to-operator.ts', use('../operator/x.ts'), imports],
  ['src/gateway/gate/to-proxy.ts', use('../proxy/x.ts'), imports],
  ['src/gateway/gate/to-operator.ts', use('../../operator/x.ts'), imports],
  ['src/gateway/proxy/fine-gate.ts', use('../gate/x.ts'), undefined],
  ['src/cli/to-gateway.ts', use('../gateway/x.ts'), imports],
  ['src/cli/deep/to-gateway.ts', use('../../gateway/x.ts'), imports],
  ['src/cli/deep/to-operator.ts', use('../../operator/x.ts'), imports],
  ['src/cli/deep/to-kube.ts', use('../../kube/x.ts'), imports],
  ['src/cli/deep/fine-own.ts', use('../gateway/x.ts'), undefined],
  ['src/cli/deep/fine.ts', use('../../credentials/x.ts'), undefined],
  ['src/gateway/to-cli.ts', use('../cli/x.ts'), imports],
  ['src/commands/to-cli.ts', use('../cli/x.ts'), imports],
  ['src/api/to-cli.ts', use('../cli/x.ts'), imports],
  ['src/telemetry/to-kube.ts', use('../kube/x.ts'), imports],
  ['src/errors.ts', use('./kube/x.ts'), imports],
  ['src/commands/to-main.ts', use('../main.ts'), imports],

  ['src/kube/fine.ts', use('../api/names.ts'), undefined],
  ['src/kube/fine-errors.ts', use('../errors.ts'), undefined],
  ['src/kube/fine-package.ts', use('@kubernetes/client-node'), undefined],
  [
    'src/platform/fine.ts',
    use('../kube/x.ts') + use('../scope/x.ts').replaceAll(/\b[ab]\b/g, '$&2'),
    undefined,
  ],
  ['src/process/fine.ts', use('../telemetry/log.ts'), undefined],
  ['src/operator/fine.ts', use('../platform/x.ts'), undefined],
  [
    'src/operator/fine-type.ts',
    "import type { Logger } from '../logger.ts';\nexport type B = Logger;\n",
    undefined,
  ],
  ['src/commands/fine.ts', use('../telemetry/log.ts'), undefined],

  ['lab/operator/to-test.ts', use('../../test/builders/x.ts'), imports],
  ['bench/to-test.ts', use('../test/builders/x.ts'), imports],
  ['tools/demo/to-lab.ts', use('../../lab/operator/x.ts'), undefined],

  ['src/kube/cycle-a.ts', "import { b } from './cycle-b.ts';\nexport const a = () => b;\n", cycles],
  ['src/operator/exit.ts', 'export const end = () => process.exit(1);\n', restricted],
  ['src/main.ts', 'process.exit(1);\n', undefined],
  ['src/kube/floating.ts', 'async function f() {}\nexport function g() {\n  f();\n}\n', floating],
  ['src/kube/misused.ts', 'const f = async () => true;\nexport const g = () => (f() ? 1 : 2);\n', misused],
  [
    'src/kube/long-function.ts',
    `export function f() {\n${lines(61)}}\n`,
    'lint/complexity/noExcessiveLinesPerFunction',
  ],
  ['src/kube/long-file.ts', lines(501), 'lint/style/noExcessiveLinesPerFile'],
  ['src/kube/long.test.ts', lines(500), undefined],
  ['src/kube/CamelCase.ts', 'export const a = 1;\n', 'lint/style/useFilenamingConvention'],
  ['src/kube/skipped.test.ts', "it.skip('a', () => undefined);\n", 'lint/suspicious/noSkippedTests'],
];

/** Written beside the cases, so that a cycle is one. */
const support = { 'src/kube/cycle-b.ts': "import { a } from './cycle-a.ts';\nexport const b = () => a;\n" };

let findings: ReadonlyMap<string, readonly string[]>;
let folder: string;

async function lint(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const launcher = path.join(root, 'tools/node24.mjs');
  const args = [launcher, 'biome', 'lint', '--reporter=github', '--max-diagnostics=none', '.'];
  execFile(process.execPath, args, { cwd: folder }, (_, stdout) => resolve(stdout));
  return promise;
}

function read(output: string): ReadonlyMap<string, readonly string[]> {
  const found = [...output.matchAll(/^::error title=([^,]+),file=([^,]+),/gm)];
  const pairs = found.map(([, rule = '', file = '']) => ({ rule, file: path.relative(folder, file) }));
  const byFile = Map.groupBy(pairs, ({ file }) => file);
  return new Map([...byFile].map(([file, all]) => [file, all.map(({ rule }) => rule)]));
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'latchkey-lint-'));
  for (const name of ['biome.json', '.gitignore'])
    await copyFile(path.join(root, name), path.join(folder, name));
  for (const [file, text] of [...cases, ...Object.entries(support)]) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
  findings = read(await lint());
});

afterAll(() => rm(folder, { recursive: true }));

describe('the lint rules of this project', () => {
  it.each(cases.filter(([, , rule]) => rule !== undefined))('refuse %s', (file, _, rule) => {
    expect(findings.get(file)).toContain(rule);
  });

  it.each(cases.filter(([, , rule]) => rule === undefined))('accept %s', (file) => {
    expect(findings.get(file)).toBeUndefined();
  });
});
