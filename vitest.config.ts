import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { SlowFirst } from './tools/test-order/slow-first.ts';
import { timed } from './tools/test-order/timed.ts';
import { SlowestFiles } from './tools/test-summary/slowest-files.ts';
import { StrayErrorReporter } from './tools/test-summary/stray-errors.ts';

/** Files wait for some time limit, or for a program that starts, half of their time: with one for each of two cores, the cores are idle. */
const workers = Math.max(4, availableParallelism());

const unit: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'unit',
    include: [
      'src/**/*.test.ts',
      'tools/**/*.test.ts',
      'test/{component,builders,fakes,page/modules}/**/*.test.ts',
    ],
    maxWorkers: workers,
    // Nothing is judged by these: they end a test that hangs. A busy machine is ten times slower than an idle one, and two workers share a core.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // With the files of `integration`, which begin: these fill the cores while the last of those wait.
    sequence: { groupOrder: 0 },
  },
};

/** What needs a control plane; each worker has one of its own. */
const withControlPlane = (
  name: string,
  include: string[],
  schedule: { readonly maxWorkers?: number; readonly groupOrder: number; readonly exclude?: string[] },
): TestProjectInlineConfiguration => ({
  extends: true,
  test: {
    name,
    include,
    exclude: schedule.exclude ?? [],
    globalSetup: ['lab/global-setup.ts'],
    maxWorkers: schedule.maxWorkers ?? workers,
    // Tests that wait for ends of their own objects wait at the same time.
    maxConcurrency: 20,
    // As above: nothing is judged by these.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { groupOrder: schedule.groupOrder },
  },
});

const timedFiles = Object.keys(timed);

export default defineConfig({
  test: {
    passWithNoTests: false,
    teardownTimeout: 60_000,
    pool: 'forks',
    // A process runs many files, and imports what they share once. So a test must leave nothing behind in its process.
    isolate: false,
    // Without it vitest unwraps the default export of CommonJS packages, and `class X extends module.default` fails in tests alone.
    deps: { interopDefault: false },
    // By default it is one second, which a busy machine may take for anything.
    expect: { poll: { timeout: 20_000 } },
    sequence: { sequencer: SlowFirst },
    reporters: ['default', 'json', new SlowestFiles(), new StrayErrorReporter()],
    outputFile: { json: 'coverage/test-report.json' },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts', 'src/**/generated/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportsDirectory: 'coverage/report',
    },
    projects: [
      unit,
      withControlPlane('integration', ['test/integration/**/*.test.ts', 'test/e2e/**/*.test.ts'], {
        groupOrder: 0,
      }),
      withControlPlane('outages', ['test/outages/**/*.test.ts', 'lab/**/*.test.ts', 'bench/**/*.test.ts'], {
        // The page has one more worker beside them. Two cores that are busy get no faster by more files, and those that wait look more often.
        maxWorkers: workers - 1,
        groupOrder: 2,
        exclude: timedFiles,
      }),
      withControlPlane('timed', timedFiles, { groupOrder: 3 }),
      // Needs a Chromium, which the machine may not have.
      withControlPlane('page', ['test/page/*.test.ts'], { maxWorkers: 1, groupOrder: 5 }),
      // Needs Python with pip, and Java with Maven, so it is in neither of the two lanes.
      withControlPlane('languages', ['test/languages/**/*.test.ts'], { maxWorkers: 1, groupOrder: 4 }),
    ],
  },
});
