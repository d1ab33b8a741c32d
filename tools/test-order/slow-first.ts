import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Small files that take long, for they wait or start programs. A fresh clone has no times of an earlier run, so vitest
 * begins with the largest files, and these would run last, one worker idle beside them.
 */
const slow = [
  'bench/benchmarks/record-memory',
  'bench/soak/',
  'test/outages/ill/minutes',
  'test/outages/ill/outages',
  'test/outages/rights/second-look',
  'test/outages/gitops/sync-waves',
  'test/outages/clients/',
  'test/outages/operator/convergence',
  'test/outages/ownership/object-size',
  'test/e2e/demo/demo',
  'test/e2e/kubeconfigs/attacks-',
  'test/outages/controlplane/npm',
  'test/outages/permissions/',
  'test/outages/kubeconfigs/',
  'test/outages/lifecycle/renewal',
  'test/outages/lifecycle/neighbours',
  'test/outages/demo/',
  'test/outages/scope/',
  'test/outages/gateway/idle-connections',
  'test/outages/gateway/minutes',
  'test/outages/gateway/withdrawn-signing-key',
  'test/outages/ill/readiness',
];

/**
 * Begins each project with them. Then come the files with a running operator, folder by folder: neighbours with equal
 * settings share one. The others follow in the order of vitest, the smallest last.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = [...Map.groupBy(await super.sort(files), ({ project }) => project).values()];
    return projects.flatMap((own) =>
      own.toSorted((one, other) => rank(one.moduleId).localeCompare(rank(other.moduleId))),
    );
  }
}

function rank(file: string): string {
  if (isSlow(file)) return '0';
  return file.includes('test/e2e/') ? `1 ${path.dirname(file)}` : '2';
}

export const isSlow = (file: string): boolean => slow.some((part) => file.includes(part));
