import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take long though they are small, for they wait or start programs; the longest first. A fresh clone has no times of an
 * earlier run, so vitest begins with the largest files, and these would run last, one worker idle beside them.
 */
const slow = [
  'test/outages/rights/time-without-policies',
  'test/outages/gateway/direct-endpoint',
  'test/outages/gateway/minutes',
  'test/outages/kubeconfigs/outages',
  'test/outages/availability/every-write',
  'test/outages/install/helm-release',
  'test/outages/ill/minutes',
  'test/outages/clients/real-clients',
  'test/outages/install/controllers',
  'test/outages/rights/second-look',
  'test/outages/gateway/cut-off-server',
  'test/e2e/demo/demo',
  'bench/soak/',
  'test/outages/ill/network',
  'test/outages/ill/outages',
  'test/outages/targets/network',
  'test/outages/kubeconfigs/every-write',
  'test/outages/demo/',
  'test/outages/availability/many-objects',
  'test/outages/gateway/idle-connections',
  'test/outages/lifecycle/renewal',
  'test/outages/gateway/requester-records',
  'test/outages/input/',
  'test/outages/gitops/',
  'test/outages/lifecycle/deletions',
  'test/outages/gateway/certificate',
  'test/outages/ill/slow-answers',
  'test/outages/targets/hostile-answers',
  'test/outages/ill/readiness',
  'test/outages/availability/two-leaders',
  'test/outages/gateway/kubeconfigs-without-operator',
  'test/outages/gateway/roll-out',
  'test/outages/lifecycle/storm',
  'test/outages/gateway/tunnels',
  'test/e2e/kubeconfigs/attacks-',
  'bench/benchmarks/record-memory',
  'test/outages/clients/',
  'test/outages/gateway/withdrawn-signing-key',
  'test/outages/lifecycle/neighbours',
  'test/outages/ownership/object-size',
  'test/outages/operator/convergence',
  'test/outages/permissions/',
  'test/outages/controlplane/npm',
  'test/outages/kubeconfigs/',
  'test/component/operator/admission-guard',
  'src/gateway/yaml/yaml-reader',
  'test/component/operator/target-crashes',
  'src/gateway/attacks',
  'src/gateway/proxy/small-pieces',
];

/**
 * Files whose operator has settings of its own, or that want none: each ends the one that is there, and the next file starts another,
 * which takes two seconds of a core.
 */
const withoutSharedOperator = [
  'test/e2e/documents',
  'test/e2e/gateway/argocd-cluster',
  'test/e2e/gateway/rights',
  'test/e2e/gateway/trusting-cluster',
  'test/e2e/input/settings',
  'test/e2e/lifecycle/duplicates',
  'test/e2e/lifecycle/ends',
  'test/e2e/lifecycle/renewal',
  'test/e2e/secrets/search',
  'test/e2e/targets/instances',
  'test/e2e/telemetry/',
];

/**
 * Puts units last, and begins each project with the slow files. Then come the files that share an operator, folder by folder, and those
 * that have another one. The others follow in the order of vitest, the smallest last.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project);
    const ordered = [...projects].toSorted(
      ([one], [other]) => Number(isFiller(one)) - Number(isFiller(other)),
    );
    return ordered.flatMap(([, own]) =>
      own.toSorted((one, other) => rank(one.moduleId).localeCompare(rank(other.moduleId))),
    );
  }
}

/** Units are short, so at the end they fill the cores while long files of other projects end. */
const isFiller = ({ name }: TestSpecification['project']): boolean => name === 'unit';

function rank(file: string): string {
  if (isSlow(file)) return `0 ${String(placeOf(file)).padStart(3, '0')}`;
  if (!file.includes('test/e2e/')) return '3';
  return withoutSharedOperator.some((part) => file.includes(part)) ? '2' : `1 ${path.dirname(file)}`;
}

const placeOf = (file: string): number => slow.findIndex((part) => file.includes(part));

export const isSlow = (file: string): boolean => placeOf(file) >= 0;
