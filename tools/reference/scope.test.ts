import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { authorise, type ScopeAnswer } from '../../src/scope/gate/authorise.ts';
import { compileScope } from '../../src/scope/gate/compile-scope.ts';
import { explainDenial } from '../../src/scope/gate/explain.ts';
import { apiPrefix, projectOfNamespace } from '../../src/scope/request-path.ts';
import { type ResolvedRequest, resolveRequest } from '../../src/scope/requests/resolve-request.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const page = readDocument('docs/reference/scope.md');
const [, example = ''] = /^```yaml\n(.*?)^```/ms.exec(page) ?? [];
const { scope } = parse(example);
const projectsByName = (namespace: string) => projectOfNamespace(namespace, 'p-');
const gates = [compileScope(scope, projectsByName)];

function resolve(line = '') {
  const [method = '', path = ''] = line.split(' ');
  return resolveRequest({
    method,
    target: path.startsWith('/') ? apiPrefix + path : path,
    contentType: undefined,
  });
}

function ask(line: string | undefined): { readonly request: ResolvedRequest; readonly answer: ScopeAnswer } {
  const request = resolve(line);
  if ('problem' in request) throw new Error(`${line}: ${request.problem}`);
  return {
    request,
    answer: authorise({ gates, request, place: { namespace: 'team-shop', isPlatform: false } }),
  };
}

const requestsIn = (title: string): string[][] =>
  rowsOf(sectionOf(page, title)).map(([request, ...cells]) => [codesIn(request)[0] ?? '', ...cells]);

describe('the page about scopes', () => {
  it('has an example that can be read', () => {
    expect(gates.flatMap(({ warnings }) => warnings)).toEqual([]);
    expect(requestsIn('Scope')).toHaveLength(9);
  });

  it.each(requestsIn('Scope'))('%s is %s', (line, expected) => {
    expect(ask(line).answer.allowed ? 'allowed' : 'denied').toBe(expected);
  });

  it.each(requestsIn('Messages'))('%s is answered with: %s', (line, message) => {
    const { request, answer } = ask(line);
    if (answer.allowed) throw new Error(`${line} is allowed`);
    expect(explainDenial(answer, request, 'OwnedAccessKey "ci"')).toContain(`: ${message}`);
  });

  const refusals = rowsOf(sectionOf(page, 'Requests that are refused')).map(
    ([code, sent]) => [codesIn(code)[0] ?? '', codesIn(sent)[0] ?? ''] as const,
  );

  it.each(refusals)('%s is the code of %s', (code, line) => {
    expect(resolve(line)).toMatchObject({ code });
  });

  it('has all codes', () => {
    const vectors = readDocument('test/fixtures/scope-vectors.yaml');
    const verdicts = [...vectors.matchAll(/^ {4}- (\w+) /gm)].map(([, verdict]) => verdict);
    const denials = ['allow', 'Target', 'Request', 'Unnamed', 'OutsideSpace'];
    const codes = refusals.map(([code]) => code).filter((code) => code !== 'NotAPath');
    expect([...new Set(verdicts)].sort()).toEqual([...denials, ...codes].sort());
  });

  it('names roles and targets of rules that exist', () => {
    for (const role of codesIn(sectionOf(page, 'Roles'))) {
      if (/^(?:projects|virtualClusters|.*instances|clusters)$/.test(role)) continue;
      expect(compileScope({ roles: [{ role }] }, projectsByName).warnings).toEqual([]);
    }
    const fields = rowsOf(sectionOf(page, 'Rules')).map(([field]) => codesIn(field)[0] ?? '');
    const own = fields.filter((field) => !field.includes('[]')).map((field) => [field, undefined]);
    expect(
      compileScope({ rules: [{ resources: [], ...Object.fromEntries(own) }] }, projectsByName).warnings,
    ).toEqual([]);
    expect(own).toHaveLength(7);
  });
});
