import { resolveRequest } from '../../src/scope/requests/resolve-request.ts';
import type { ApiServerOriginal } from './apiserver.ts';
import { type GeneratedRequest, generateRequests } from './generated-requests.ts';

export interface Comparison {
  readonly compared: number;
  /** How many requests were refused, by code. */
  readonly refused: Readonly<Record<string, number>>;
  /** The first of them, for people. */
  readonly differences: readonly string[];
}

const batchSize = 50_000;
const maxDifferences = 20;

/** Resolves generated requests, and what is forwarded of them by the API server's own code. */
export async function compareRequests(
  original: ApiServerOriginal,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<Comparison> {
  const refused: Record<string, number> = {};
  const differences: string[] = [];
  let compared = 0;
  for (let done = 0; done < count && differences.length < maxDifferences; done += batchSize) {
    const batch = readBatch(seed + done, Math.min(batchSize, count - done), refused);
    const expected = await original.requestInfos(batch.map(({ line }) => line));
    for (const [index, { line, meaning }] of batch.entries()) {
      const answer = JSON.stringify(expected[index]);
      if (answer !== meaning) differences.push(`${line}\n  ours:   ${meaning}\n  theirs: ${answer}`);
    }
    compared += batch.length;
  }
  return { compared, refused, differences: differences.slice(0, maxDifferences) };
}

interface Resolved {
  readonly line: string;
  readonly meaning: string;
}

function readBatch(seed: number, count: number, refused: Record<string, number>): readonly Resolved[] {
  const batch: Resolved[] = [];
  for (const sent of generateRequests(seed, count)) {
    const resolved = resolve(sent);
    if ('code' in resolved) refused[resolved.code] = (refused[resolved.code] ?? 0) + 1;
    else batch.push(resolved);
  }
  return batch;
}

function resolve(sent: GeneratedRequest): Resolved | { readonly code: string } {
  const request = resolveRequest({ ...sent, contentType: undefined });
  if ('problem' in request) return request;
  const { path, isResourceRequest, verb, apiGroup, apiVersion, namespace } = request;
  const rest = [namespace, request.resource, request.subresource, request.name];
  return {
    line: `${sent.method} ${request.forward}`,
    meaning: JSON.stringify([path, isResourceRequest, verb, apiGroup, apiVersion, ...rest]),
  };
}
