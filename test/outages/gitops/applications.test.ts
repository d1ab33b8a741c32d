import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Document, isMap, parseDocument } from 'yaml';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { samples } from '../../../lab/operator/samples.ts';
import { until } from '../../../lab/operator/until.ts';
import { readDocument } from '../../../tools/reference/document.ts';
import { applicationDefinition, downloadTimeoutMs } from '../../argocd-application/argocd-application.ts';
import { mergePatch } from '../../fakes/merge-patch.ts';

const plane = await sharedControlPlane();
const applications = await samples('gitops/argocd');
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } };
const installed = 'crd/applications.argoproj.io';
let definition: Document;

async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const { exitCode, stdout, stderr } = await plane.kubectl(args, { input });
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

/** As `kubectl create` does it, except that nothing is stored. */
async function create(items: readonly unknown[]): Promise<string> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  return await kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], list);
}

/** The schema of a field of `spec`; undefined where Argo CD has no such field. */
function fieldOf(field: string): unknown {
  const names = ['spec', ...field.split('.')].flatMap((name) => ['properties', name]);
  const found = definition.getIn(['spec', 'versions', 0, 'schema', 'openAPIV3Schema', ...names]);
  return isMap(found) ? found.toJSON() : undefined;
}

const withRetry = (retry: object) => ({ spec: { syncPolicy: { retry } } });

describe('the Applications of config/samples/gitops/argocd', () => {
  beforeAll(async () => {
    const text = await applicationDefinition();
    definition = parseDocument(text);
    await kubectl(['apply', '-f', '-'], JSON.stringify(namespace));
    await kubectl(['create', '-f', '-'], text);
  }, downloadTimeoutMs + 60_000);

  afterAll(async () => await kubectl(['delete', installed]));

  it('have no field that Argo CD does not know', async () => {
    const created = await until('the new kind is served', async () => await create(applications));
    for (const { metadata } of applications) expect(created).toContain(`/${metadata.name} created`);
    const misspelt = mergePatch(applications[0], withRetry({ refreshed: true }));
    // Said by kubectl or by the API server, whichever knows the definition first.
    await expect(create([misspelt])).rejects.toThrow(/unknown field "(spec\.syncPolicy\.retry\.)?refreshed"/);
  });

  it('retry with the newest commit, as Argo CD describes the field', () => {
    for (const application of applications) expect(application).toMatchObject(withRetry({ refresh: true }));
    expect(fieldOf('syncPolicy.retry.refresh')).toMatchObject({
      type: 'boolean',
      description: expect.stringContaining('latest revision should be used on retry'),
    });
  });

  it('can be changed as the guide says', () => {
    const named = readDocument('docs/guide/gitops.md').matchAll(/`(syncPolicy\.[\w.]+)/g);
    const fields = [...new Set([...named].map(([, field = '']) => field))];
    expect(fields).toContain('syncPolicy.retry.refresh');
    for (const field of fields) expect(fieldOf(field), field).toBeDefined();
  });
});
