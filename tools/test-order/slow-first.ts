import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Small files that take long, for they wait or start programs. A fresh clone has no times of an earlier run, so vitest
 * begins with the largest files, and these would run last, one worker idle beside them.
 */
const slow = [
  'bench/benchmarks/record-memory',
  'test/component/operator/convergence',
  'test/e2e/demo/demo',
  'test/e2e/kubeconfigs/attacks-',
  'test/integration/admission/collectors-exempt',
  'lab/controlplane/npm',
  'test/outages/kubeconfigs/',
  'test/outages/lifecycle/renewal',
];

/** Begins each project with them, and goes on in the order of vitest. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = [...Map.groupBy(await super.sort(files), ({ project }) => project).values()];
    const rank = ({ moduleId }: TestSpecification): number => (isSlow(moduleId) ? 0 : 1);
    return projects.flatMap((own) => own.toSorted((one, other) => rank(one) - rank(other)));
  }
}

export const isSlow = (file: string): boolean => slow.some((part) => file.includes(part));
