import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { apiVersion } from '../../../src/api/names.ts';
import {
  customizations,
  HealthJudge,
  type HealthStatus,
  type Judgement,
  scriptOf,
} from '../../argocd-health/argocd-health.ts';

interface HealthTest {
  readonly kind: string;
  readonly inputPath: string;
  readonly healthStatus: HealthStatus;
}

const read = (...parts: string[]): string => readFileSync(path.join(customizations, ...parts), 'utf8');

const testsOf = (kind: string): readonly HealthTest[] =>
  parse(read(kind, 'health_test.yaml')).tests.map((test: HealthTest) => ({ ...test, kind }));

const kinds = readdirSync(customizations).sort();
const tests = kinds.flatMap(testsOf);

/** The usual kstatus for each status of Argo CD. */
const usual: Partial<Record<HealthStatus['status'], Judgement['kstatus']>> = {
  Healthy: 'Current',
  Progressing: 'InProgress',
  // kstatus has no word for what is meant to be off.
  Suspended: 'InProgress',
  Degraded: 'Failed',
};

/** Where kstatus says something else. */
const unusual: Readonly<Record<string, Judgement['kstatus']>> = {
  // The API server gives every object a status when it is made, because of this.
  'testdata/progressing_noStatus.yaml': 'Current',
  // The operator looks again, and nothing changes unless a person or something outside changes it.
  'testdata/degraded_accessKeyNotLive.yaml': 'InProgress',
  'testdata/degraded_locked.yaml': 'InProgress',
  'testdata/degraded_targetUnreachable.yaml': 'InProgress',
  // Off, and something else is the matter with it besides.
  'testdata/suspended_disabledBeforeItsEnd.yaml': 'Failed',
  'testdata/suspended_duplicateKey.yaml': 'Failed',
};

describe('the health checks for Argo CD', () => {
  let guard: Guard;
  let judge: HealthJudge;
  let judgements: ReadonlyMap<HealthTest, Judgement | undefined>;

  beforeAll(async () => {
    guard = await Guard.start('argocd-health');
    judge = await HealthJudge.build(guard.folder);
    const questions = tests.map(({ kind, inputPath }) => ({
      script: scriptOf(kind),
      object: parse(read(kind, inputPath)),
    }));
    const all = await judge.judge(questions);
    judgements = new Map(tests.map((test, i) => [test, all[i]]));
  });
  afterAll(async () => await guard?.stop());

  it('are there for every kind', () => {
    const definitions = readdirSync(path.resolve(import.meta.dirname, '../../../crds'))
      .filter((file) => file !== 'kustomization.yaml')
      .map((file) => parse(readFileSync(path.resolve(import.meta.dirname, '../../../crds', file), 'utf8')));
    expect(kinds).toEqual(definitions.map(({ spec }) => spec.names.kind).sort());
  });

  it.each(kinds)('of %s are tried with every file of test data, and no other', (kind) => {
    expect(readdirSync(path.join(customizations, kind)).sort()).toEqual([
      'health.lua',
      'health_test.yaml',
      'testdata',
    ]);
    const files = readdirSync(path.join(customizations, kind, 'testdata')).map((file) => `testdata/${file}`);
    expect(testsOf(kind).map(({ inputPath }) => inputPath)).toEqual(
      expect.arrayContaining(['testdata/progressing_noStatus.yaml', 'testdata/progressing_new.yaml']),
    );
    expect(
      testsOf(kind)
        .map(({ inputPath }) => inputPath)
        .sort(),
    ).toEqual(files.sort());
  });

  describe.each(tests)('$kind $inputPath', (test) => {
    const { kind, inputPath, healthStatus } = test;
    const object = parse(read(kind, inputPath));

    it(`is ${healthStatus.status} to Argo CD, and what kstatus makes of it to Flux`, () => {
      const kstatus = unusual[inputPath] ?? usual[healthStatus.status];
      expect(judgements.get(test)).toEqual({ health: healthStatus, kstatus });
    });

    it('is a whole object, and holds no credential', () => {
      expect(object).toMatchObject({
        apiVersion,
        kind,
        metadata: { uid: expect.any(String), generation: expect.any(Number) },
      });
      const text = read(kind, inputPath);
      expect(text).not.toMatch(/\blk_[0-9A-Za-z]{20}|\beyJ|PRIVATE KEY|client-key-data/);
    });
  });

  it.each(tests.filter(({ healthStatus }) => healthStatus.status === 'Healthy'))(
    '$kind $inputPath is waited for while it is being deleted, and after every change',
    async ({ kind, inputPath }) => {
      const object = parse(read(kind, inputPath));
      const going = {
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: '2026-11-21T10:00:00Z' },
      };
      const changed = {
        ...object,
        metadata: { ...object.metadata, generation: object.metadata.generation + 1 },
      };
      const answers = await judge.judge(
        [going, changed].map((asked) => ({ script: scriptOf(kind), object: asked })),
      );
      expect(answers.map(({ health, kstatus }) => [health?.status, kstatus])).toEqual([
        ['Progressing', 'Terminating'],
        ['Progressing', 'InProgress'],
      ]);
    },
  );

  it('are run as strictly as by Argo CD: without libraries, and for a second at most', async () => {
    const object = parse(read('Cluster', 'testdata/progressing_new.yaml'));
    const scripts = [
      'return ipairs({})',
      'os.time()',
      'while true do end',
      'return { status = "Fine" }',
      'return 1',
    ];
    const answers = await judge.judge(scripts.map((script) => ({ script, object })));
    expect(answers.map(({ error }) => error)).toEqual([
      expect.stringContaining('attempt to call a non-function object'),
      expect.stringContaining('attempt to index a non-table object'),
      expect.stringContaining('context deadline exceeded'),
      expect.stringContaining('status "Fine"'),
      expect.stringContaining('no table but number'),
    ]);
  });
});
