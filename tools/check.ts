import { spawnSync } from 'node:child_process';

/** Everything that can be judged without running the program; all of it runs, so that one round shows every problem. */
const steps: Readonly<Record<string, readonly string[]>> = {
  'format and lint': ['biome', 'ci', '.'],
  types: ['tsc'],
  'types of the page': ['tsc', '-p', 'src/page'],
  'generated types': ['node', 'tools/generate-types.ts', '--check'],
  'admission policies': ['node', 'tools/policies/main.ts', '--check'],
  'reference pages': ['node', 'tools/generate-reference.ts', '--check'],
  'Helm chart': ['node', 'tools/generate-install.ts', '--check'],
  'circles between folders': ['node', 'tools/folders/main.ts'],
  'lock file': ['node', 'tools/package-lock/main.ts'],
  'members that only tests use': ['node', 'tools/members/main.ts'],
  'dead code': ['knip', '--no-progress'],
  'code that only tests use': ['knip', '--no-progress', '--production'],
  // Rules about words are tests, and a sentence that breaks one must not wait for the whole lane.
  'words and pages': [
    'vitest',
    'run',
    '--project=unit',
    '--reporter=default',
    '--outputFile.json=coverage/words-report.json',
    'tools/reference',
    'test/component/crds',
  ],
};

const failed = Object.entries(steps).filter(([name, command]) => {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, ['tools/node24.mjs', ...command], { stdio: 'inherit' });
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${Math.round(performance.now() - start)} ms)`);
  return status !== 0;
});

process.exitCode = failed.length === 0 ? 0 : 1;
