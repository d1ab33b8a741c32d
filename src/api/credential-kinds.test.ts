import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { allCredentialKinds, credentialKinds } from './credential-kinds.ts';
import { asObject, asTexts, type JsonObject } from './json.ts';

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly Rule[];
}

const roles = ['operator-cluster-role', 'people-cluster-roles', 'admin-cluster-role']
  .flatMap((file) => parseAllDocuments(readFileSync(`config/rbac/${file}.yaml`, 'utf8')))
  .map((document) => document.toJS() as Role)
  .filter(({ kind }) => kind === 'ClusterRole');

/** Verbs that a shipped role has on a resource. */
const verbsOf = (name: string, resource: string): readonly string[] =>
  roles
    .filter(({ metadata }) => metadata.name === name)
    .flatMap(({ rules }) => rules.filter(({ resources }) => resources.includes(resource)))
    .flatMap(({ verbs }) => verbs);

/** Finds the schema of a field in that of its kind. */
const fieldOf = (schema: JsonObject, path: string): unknown =>
  path.split('.').reduce<unknown>((present, name) => asObject(asObject(present)['properties'])[name], schema);

describe.each(allCredentialKinds)('the kind %s', (kind) => {
  const { plural, namespaced, lifeField, statusField, selectableFields } = credentialKinds[kind];
  const { spec } = parse(readFileSync(`crds/${plural}.yaml`, 'utf8'));

  it('has the names and the scope of its schema, which is installed with the others', () => {
    expect(spec.names).toMatchObject({ kind, plural });
    expect(spec.scope).toBe(namespaced ? 'Namespaced' : 'Cluster');
    const installed = parse(readFileSync('crds/kustomization.yaml', 'utf8'));
    expect(asTexts(installed.resources)).toContain(`${plural}.yaml`);
  });

  it('names fields that its schema has', () => {
    const schema = spec.versions[0].schema.openAPIV3Schema as JsonObject;
    const fields = [lifeField, ...(statusField === undefined ? [] : [`status.${statusField}`])];
    for (const field of fields) expect(fieldOf(schema, field), field).toBeDefined();
  });

  it('is selected by the fields that its schema names', () => {
    const named: readonly { readonly jsonPath: string }[] = spec.versions[0].selectableFields;
    expect(named.map(({ jsonPath }) => jsonPath.slice(1)).sort()).toEqual(selectableFields.toSorted());
  });

  it.each([
    ['latchkey-operator', plural, ['get', 'list', 'watch', 'patch', 'delete']],
    ['latchkey-operator', `${plural}/status`, ['patch']],
    ['latchkey-self-service', plural, ['create', 'update', 'delete']],
    ['latchkey-revoker', plural, ['delete', 'revoke']],
    [
      'latchkey-admin',
      plural,
      ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
    ],
  ])('is in the role %s as %s', (role, resource, verbs) => {
    expect(verbsOf(role, resource)).toEqual(verbs);
  });
});
