import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { olderKubectlVersion } from '../lab/controlplane/versions.ts';

const root = path.resolve(import.meta.dirname, '..');
const prometheus = 'test/prometheus/go.mod';
const actionlint = 'test/actionlint/go.mod';
const olderKubectl = 'lab/controlplane/older-kubectl/go.mod';
const files = [
  'lab/controlplane/build/go.mod',
  'lab/kubelet/go.mod',
  olderKubectl,
  ...globSync('test/*/go.mod', { cwd: root }).sort(),
];

/** Prometheus needs newer ones than Kubernetes does, and the API server of the tests stays what Kubernetes publishes. */
const newerForPrometheus = [
  'github.com/fxamacker/cbor/v2',
  'github.com/prometheus/client_golang',
  'github.com/prometheus/common',
  'go.opentelemetry.io/otel',
  'go.opentelemetry.io/otel/metric',
  'go.opentelemetry.io/otel/trace',
  'go.yaml.in/yaml/v3',
  'k8s.io/kube-openapi',
  'sigs.k8s.io/structured-merge-diff/v6',
];

/** It stands on libraries of its own minor, and shares those of others. */
const isOfOlderMinor = ({ file, version }: Requirement): boolean =>
  file === olderKubectl && version === `v0${olderKubectlVersion.slice(1)}`;

/** actionlint needs a newer one than Helm does. Both are compiled in a moment. */
const newerForActionlint = ['github.com/mattn/go-runewidth'];

interface Requirement {
  readonly file: string;
  readonly module: string;
  readonly version: string;
}

/**
 * The version that counts is the required one, also where a `replace` puts another in its place: Go compiles a library again
 * for every version that somebody requires.
 */
function requirements(file: string): readonly Requirement[] {
  const [required = ''] = readFileSync(path.join(root, file), 'utf8').split('\nreplace ');
  const lines = required.matchAll(/^(?:require )?\s+(\S+) (v\S+)/gm);
  return [...lines].map(([, module = '', version = '']) => ({ file, module, version }));
}

it('the control plane and the Go programs of the tests require the same versions, so that a library is compiled once', () => {
  const all = files
    .flatMap(requirements)
    .filter(({ file, module }) => file !== prometheus || !newerForPrometheus.includes(module))
    .filter((requirement) => !isOfOlderMinor(requirement))
    .filter(({ file, module }) => file !== actionlint || !newerForActionlint.includes(module));
  const shared = [...Map.groupBy(all, ({ module }) => module).values()].filter(({ length }) => length > 1);
  expect(shared.length).toBeGreaterThan(80);
  const different = shared.filter((uses) => new Set(uses.map(({ version }) => version)).size > 1);
  expect(
    different.flatMap((uses) => uses.map(({ module, version, file }) => `${module} ${version} in ${file}`)),
  ).toEqual([]);
});
