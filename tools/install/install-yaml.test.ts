import path from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { version } from '../../src/version.ts';
import { installYaml } from './install-yaml.ts';
import { renderKustomization } from './kustomization.ts';

const objects = renderKustomization(path.resolve(import.meta.dirname, '../../config/default'));
const text = installYaml(objects);
const [header = ''] = text.split(/^(?!#)/m);
const served = /kubectl get (\w+)\.(v\w+)\.([\w.]+) && kubectl apply -f install\.yaml\n/;

it('holds all objects of config/default as they are', () => {
  expect(objects.length).toBeGreaterThan(80);
  expect(parseAllDocuments(text).map((document) => document.toJS())).toEqual(objects);
});

it('begins with the release, the oldest Kubernetes, and how to take back what an older one has taken', () => {
  expect(header).toContain(`# Latchkey ${version}, `);
  expect(header).toContain('Kubernetes must be 1.36 or newer');
  expect(header).toContain('#   kubectl delete -f install.yaml --ignore-not-found\n');
  expect(header).toContain('it would delete every credential');
});

it('has the API server asked for the newest kind that it holds, in its version, before anything is applied', () => {
  const [, plural, apiVersion, group] = served.exec(header) ?? [];
  const asked = objects.filter(({ kind }) => kind === 'MutatingAdmissionPolicy');
  expect(asked.length).toBeGreaterThan(0);
  expect(plural).toBe('mutatingadmissionpolicies');
  for (const object of asked) expect(object.apiVersion).toBe(`${group}/${apiVersion}`);
});
