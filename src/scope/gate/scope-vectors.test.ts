import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { projectsByName } from '../../../test/builders/projects.ts';
import type { RawScope } from '../effective-scope.ts';
import { apiPrefix } from '../request-path.ts';
import { resolveRequest } from '../requests/resolve-request.ts';
import { authorise } from './authorise.ts';
import { compileScope } from './compile-scope.ts';

interface Vectors {
  readonly about: string;
  readonly scope?: RawScope;
  readonly ancestors?: readonly RawScope[];
  readonly rows: readonly string[];
}

const file = path.join(import.meta.dirname, '../../../test/fixtures/scope-vectors.yaml');
const vectors: readonly Vectors[] = parse(readFileSync(file, 'utf8'));

/** An apply is a patch with a type of its own. */
function resolve(method: string, target: string) {
  const isApply = method === 'APPLY';
  return resolveRequest({
    method: isApply ? 'PATCH' : method,
    target: apiPrefix + target,
    contentType: isApply ? 'application/apply-patch+yaml' : 'application/merge-patch+json',
  });
}

function verdictOf(scopes: readonly RawScope[], method: string, target: string): string {
  const request = resolve(method, target);
  if ('problem' in request) return request.code;
  const namespace = target.startsWith('/project/demo/space/shop') ? 'team-shop' : undefined;
  const isPlatform = /^\/(?:management|cluster\/platform|project\/[^/]+\/[^/]+\/platform)(?:\/|$)/.test(
    target,
  );
  const gates = scopes.map((scope) => compileScope(scope, projectsByName));
  const answer = authorise({ gates, request, place: { namespace, isPlatform } });
  return answer.allowed ? 'allow' : answer.reason;
}

describe.each(vectors)('$about', ({ scope, ancestors = [], rows }) => {
  const scopes = scope === undefined ? ancestors : [scope, ...ancestors];
  it.each(rows)('%s', (row) => {
    const [verdict, method = '', target = ''] = row.split(' ');
    expect(verdictOf(scopes, method, target)).toBe(verdict);
  });
});

it('there are at least four hundred rows, and no two of one scope are equal', () => {
  expect(vectors.flatMap(({ rows }) => rows).length).toBeGreaterThanOrEqual(400);
  for (const { rows } of vectors) expect(new Set(rows).size).toBe(rows.length);
});
