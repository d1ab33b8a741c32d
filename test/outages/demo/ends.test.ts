import { describe, expect, it } from 'vitest';
import { expectEverythingShown, RunningDemo } from '../../e2e/demo/running-demo.ts';

async function withDemo(test: (demo: RunningDemo) => Promise<void>): Promise<void> {
  const demo = new RunningDemo();
  try {
    await test(demo);
  } finally {
    await demo.end();
  }
}

/** A whole demo waits for a renewal most of its time, so the others end meanwhile. */
describe.concurrent('npm run demo', () => {
  it('with --once and --verbose shows keys, a verified token and kubeconfigs, and ends with exit code 0', async () =>
    await withDemo(async (demo) => {
      expect(await demo.start('--once', '--verbose')).toBe(0);
      expectEverythingShown(demo.output);
      expect(demo.output).not.toContain('To try things');
      demo.expectNothingLeft();
    }));

  it.each(['starting two control planes', 'installing Latchkey'])(
    'ends by SIGINT while it is %s, too, and leaves nothing',
    async (step) =>
      await withDemo(async (demo) => {
        const ended = demo.start('--once');
        await demo.untilOutput(step);
        demo.interrupt();
        expect(await ended).not.toBe(0);
        demo.expectNothingLeft();
      }),
  );

  it('says so when the operator ends, shows the end of its log, and fails', async () =>
    await withDemo(async (demo) => {
      const ended = demo.start();
      // It has led for a while, and there is nothing to see yet, which would take a minute of two cores.
      await demo.untilOutput('applying config/samples');
      const operator = [...demo.processes()].find(([, command]) => command.includes('main.ts operator'));
      process.kill(Number(operator?.[0]), 'SIGKILL');
      expect(await ended).toBe(1);
      expect(demo.output).toContain('demo: the operator ended with exit code 137. The end of its log:\n{');
      demo.expectNothingLeft();
    }));
});
