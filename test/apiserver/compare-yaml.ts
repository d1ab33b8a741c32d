import { isDeepStrictEqual } from 'node:util';
import { parseBody } from '../../src/gateway/endpoints/shared/request-body.ts';
import { readYAML } from '../../src/gateway/yaml/read-yaml.ts';
import type { ApiServerOriginal } from './apiserver.ts';

export interface YAMLComparison {
  /** How many texts both read, and read the same. */
  readonly same: number;
  /** How many both refuse. */
  readonly refused: number;
  /** How many the gateway alone refuses, by reason. */
  readonly stricter: Readonly<Record<string, number>>;
  /** Texts that are read otherwise, or by the gateway alone: the first of them, for people. */
  readonly differences: readonly string[];
}

const maxDifferences = 20;
const source = {
  yaml: { read: async (_: string, text: string) => readYAML(text) },
  ...{ user: 'alice', turn: async () => undefined },
};

/** Reads texts as the gateway reads a body, and with the reader of the API server. */
export async function compareYAML(
  original: ApiServerOriginal,
  texts: readonly (string | Buffer)[],
): Promise<YAMLComparison> {
  const bodies = texts.map((text) => Buffer.from(text));
  const expected = await original.readYAML(bodies);
  const stricter: Record<string, number> = {};
  const differences: string[] = [];
  let [same, refused] = [0, 0];
  for (const [index, body] of bodies.entries()) {
    const theirs = expected[index];
    if (theirs === undefined) throw new Error('an answer is missing');
    const ours = await parseBody(body, 'application/yaml', source);
    if ('value' in ours && 'json' in theirs && isSame(ours.value, JSON.parse(theirs.json))) same += 1;
    else if ('value' in ours) differences.push(explain(body, ours.value, theirs));
    else if ('error' in theirs) refused += 1;
    else {
      const { message } = JSON.parse(ours.refusal.body) as { readonly message: string };
      const reason = message.replace('the body cannot be read: ', '').replace(/\. Send one.*/, '');
      stricter[reason] = (stricter[reason] ?? 0) + 1;
    }
  }
  return { same, refused, stricter, differences: differences.slice(0, maxDifferences) };
}

const explain = (body: Buffer, ours: unknown, theirs: object): string =>
  `${JSON.stringify(body.toString('utf8'))}\n  ours:   ${JSON.stringify(ours)}\n  theirs: ${JSON.stringify(theirs)}`;

/** JSON has no other zero. */
const isSame = (ours: unknown, theirs: unknown): boolean => isDeepStrictEqual(plain(ours), plain(theirs));
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, item) => (item === 0 ? 0 : item));
