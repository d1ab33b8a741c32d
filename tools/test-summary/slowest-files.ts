import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** The time of a file: `prepare` before its tests (process, imports, what stands at its top), `tests` with their hooks. */
export interface FileTime {
  readonly name: string;
  readonly prepareMs: number;
  readonly testsMs: number;
}

const count = 20;

/** Prints at the end of a run which files took longest. The JSON report knows only the time of the tests in them. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= count) return;
    for (const line of slowestFiles(modules.map(timeOf))) console.log(line);
  }
}

function timeOf(module: TestModule): FileTime {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } =
    module.diagnostic();
  return {
    name: path.relative('.', module.moduleId),
    prepareMs: prepareDuration + environmentSetupDuration + setupDuration + collectDuration,
    testsMs: duration,
  };
}

export function slowestFiles(times: readonly FileTime[]): readonly string[] {
  const total = ({ prepareMs, testsMs }: FileTime): number => prepareMs + testsMs;
  const slowest = [...times].sort((one, other) => total(other) - total(one)).slice(0, count);
  const seconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(6);
  return [
    `The ${slowest.length} slowest of ${times.length} files (seconds in all, before the tests, in the tests):`,
    ...slowest.map(
      (time) => `${seconds(total(time))}${seconds(time.prepareMs)}${seconds(time.testsMs)}  ${time.name}`,
    ),
  ];
}
