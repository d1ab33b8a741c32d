import { defineConfig } from 'vitest/config';

const report = process.env.TEST_REPORT ?? 'coverage/test-report.json';

export default defineConfig({
  test: {
    passWithNoTests: false,
    teardownTimeout: 60_000,
    reporters: ['default', ['json', { outputFile: report }]],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts', 'src/**/generated/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportsDirectory: 'coverage/report',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'tools/**/*.test.ts',
            'bench/**/*.test.ts',
            'test/{component,builders,fakes}/**/*.test.ts',
          ],
          pool: 'forks',
          // Without it vitest unwraps the default export of CommonJS packages, and `class X extends module.default` fails in tests alone.
          deps: { interopDefault: false },
          // Many of them wait for a time limit of their own, so even the core of the main process is not kept free.
          maxWorkers: '100%',
          testTimeout: 15_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: [
            'test/integration/**/*.test.ts',
            'test/e2e/**/*.test.ts',
            'lab/controlplane/**/*.test.ts',
          ],
          globalSetup: ['lab/controlplane/global-setup.ts'],
          pool: 'forks',
          deps: { interopDefault: false },
          // Each has a control plane of its own. With more of them on two cores, time limits of leases and probes are missed.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
