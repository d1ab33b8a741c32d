import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { SlowFirst } from './tools/test-order/slow-first.ts';
import { SlowestFiles } from './tools/test-summary/slowest-files.ts';
import { StrayErrorReporter } from './tools/test-summary/stray-errors.ts';

const unit: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'unit',
    include: ['src/**/*.test.ts', 'tools/**/*.test.ts', 'test/{component,builders,fakes}/**/*.test.ts'],
    // Many of them wait for a time limit of their own, so even the core of the main process is not kept free.
    maxWorkers: '100%',
    // Nothing is judged by these: they end a test that hangs, and a busy machine is ten times slower than an idle one.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 0 },
  },
};

/** What needs a control plane. */
const withControlPlane = (name: string, include: string[]): TestProjectInlineConfiguration => ({
  extends: true,
  test: {
    name,
    include,
    globalSetup: ['lab/global-setup.ts'],
    // Each has a control plane of its own. With more of them on two cores, time limits of leases and probes are missed.
    maxWorkers: 2,
    // Tests that wait for ends of their own objects wait at the same time.
    maxConcurrency: 20,
    // As above: nothing is judged by these.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { groupOrder: 1 },
  },
});

export default defineConfig({
  test: {
    passWithNoTests: false,
    teardownTimeout: 60_000,
    pool: 'forks',
    // A process runs many files, and imports what they share once. So a test must leave nothing behind in its process.
    isolate: false,
    // Without it vitest unwraps the default export of CommonJS packages, and `class X extends module.default` fails in tests alone.
    deps: { interopDefault: false },
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
      withControlPlane('integration', ['test/integration/**/*.test.ts', 'test/e2e/**/*.test.ts']),
      withControlPlane('outages', ['test/outages/**/*.test.ts', 'lab/**/*.test.ts', 'bench/**/*.test.ts']),
    ],
  },
});
