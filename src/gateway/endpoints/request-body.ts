import { parseDocument, visit } from 'yaml';
import { expectsContinue } from '../proxy/forward.ts';
import { StallGuard } from '../proxy/stall-guard.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import type { EndpointRequest } from './endpoint.ts';

type BodySource = Pick<EndpointRequest, 'request' | 'response' | 'clock' | 'maxStallMs'>;

export interface BodyLimit {
  readonly maxBytes: number;
  /** The answer to a larger one. */
  readonly tooLarge: ErrorAnswer;
}

/** The body, or the answer to one that does not arrive. */
export async function readBody(
  { request, response, clock, maxStallMs }: BodySource,
  { maxBytes, tooLarge }: BodyLimit,
): Promise<Buffer | ErrorAnswer> {
  if (expectsContinue(request)) response.writeContinue();
  const { promise, resolve } = Promise.withResolvers<Buffer | ErrorAnswer>();
  const guard = new StallGuard(clock, maxStallMs, () => resolve(tooSlow));
  const chunks: Buffer[] = [];
  let size = 0;
  request
    .on('data', (chunk: Buffer) => {
      guard.progress();
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else resolve(tooLarge);
    })
    .once('end', () => resolve(Buffer.concat(chunks)))
    .once('close', () => resolve(cutOff));
  const body = await promise;
  guard.stop();
  request.pause();
  return body;
}

export const mediaTypeOf = (header = ''): string => (header.split(';', 1)[0] ?? '').trim().toLowerCase();

/** A parser's own message quotes what it could not read, which may be a key. */
export function parseBody(
  body: Buffer,
  type: string,
): { readonly value: unknown } | { readonly problem: string } {
  const text = body.toString('utf8');
  try {
    const value = /yaml$/.test(type) ? parseYAML(text) : JSON.parse(text);
    return isTooDeep(value, maxDepth) ? { problem: `it nests deeper than ${maxDepth} levels` } : { value };
  } catch (error) {
    return { problem: error instanceof BodyProblem ? error.message : 'it is not what its Content-Type says' };
  }
}

class BodyProblem extends Error {}

/** Deeper than any schema of ours. */
const maxDepth = 64;

/**
 * YAML 1.1 as the API server reads it, one document. Aliases can grow without bounds, so there may be few. Keys that are collections are
 * refused: the reader writes each of them out again at every level, and 800 bytes of them take it a minute.
 */
const yamlOptions = {
  version: '1.1',
  logLevel: 'error',
  stringKeys: true,
  // It would compare each key with all others.
  uniqueKeys: false,
  merge: false,
} as const;

function parseYAML(text: string): unknown {
  const document = parseDocument(text, yamlOptions);
  const [error] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS') throw new BodyProblem('it holds more than one document');
  if (error !== undefined) throw new BodyProblem('it is no YAML');
  visit(document, { Map: (_, { items }) => checkKeys(items) });
  // YAML holds values that become texts only in JSON: dates, binary, keys that are numbers.
  return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 100 }) ?? null));
}

function checkKeys(items: readonly { readonly key: unknown }[]): void {
  const keys = new Set(items.map(({ key }) => String(key)));
  if (keys.size < items.length) throw new BodyProblem('a key stands twice in it');
}

const isTooDeep = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1)));

const tooSlow = errorAnswer('ERR_REQUEST_TIMEOUT', {});
const cutOff = errorAnswer('ERR_REQUEST_MALFORMED', { problem: 'its body is cut off' });
