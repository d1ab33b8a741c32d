import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../kube/clock.ts';
import { YAMLReader, yamlLimits } from '../../yaml/yaml-reader.ts';
import { Refusal } from './reply.ts';
import { parseBody, parseObject, parsePatch, readWholeBody } from './request-body.ts';

const source = {
  yaml: new YAMLReader({ clock: systemClock, limits: yamlLimits, isAlone: () => true }),
  user: 'alice',
  turn: async (): Promise<void> => undefined,
};
const parse = async (text: string, type = 'application/yaml') => {
  const parsed = await parseBody(Buffer.from(text), type, source);
  return 'value' in parsed ? parsed : { problem: JSON.parse(parsed.refusal.body).message as string };
};
const patchOf = async (text: string, turn = source.turn) => await parsePatch(Buffer.from(text), turn);
const read = async (text: string, type = 'application/yaml') =>
  await parseObject(Buffer.from(text), type, source);
const aliases = (count: number) => `a: &a [1]\nb:\n${'  - *a\n'.repeat(count)}`;

describe('a body', () => {
  it.each([
    ['application/json', '{"spec":{"a":1}}', { spec: { a: 1 } }],
    ['', '{"a":1}', { a: 1 }],
    ['application/yaml', 'spec:\n  a: 1\n', { spec: { a: 1 } }],
    ['application/yaml', '{"spec":{"a":1}}', { spec: { a: 1 } }],
    ['application/yaml', '{spec: {a: 1}}', { spec: { a: 1 } }],
    ['application/yaml', 'a: yes', { a: true }],
    ['application/yaml', 'a: 0600', { a: 384 }],
    ['application/yaml', 'a: 2026-11-22', { a: '2026-11-22' }],
    ['application/yaml', 'a: 10:00', { a: '10:00' }],
    ['application/yaml', 'a: 0_', { a: 0 }],
    ['application/yaml', 'a: 1e400', { a: '1e400' }],
    ['application/yaml', 'a: !!str 5', { a: '5' }],
    ['application/yaml', '1: a', { 1: 'a' }],
    ['application/yaml', 'a: &x [1]\nb: *x', { a: [1], b: [1] }],
    ['application/yaml', 'a: {x: 1}\nb: {x: 1}', { a: { x: 1 }, b: { x: 1 } }],
    ['application/yaml', aliases(50), { a: [1], b: Array(50).fill([1]) }],
    [
      'application/json',
      '[9007199254740991, -9007199254740991, 0.1, 1e-400]',
      [2 ** 53 - 1, 1 - 2 ** 53, 0.1, 0],
    ],
    ['application/json', `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`, expect.anything()],
  ])('of %s is read: %s', async (type, text, value) => {
    expect(await parse(text, type)).toEqual({ value });
  });

  it.each([
    ['{', 'application/json', 'not what its Content-Type says'],
    ['a: 1', 'application/json', 'not what its Content-Type says'],
    ['a: [', 'application/yaml', 'no YAML'],
    ['a: [1', 'application/yaml', 'no YAML'],
    ['a: 1\n---\nb: 2', 'application/yaml', 'more than one document'],
    ['spec: 1\nspec: 2', 'application/yaml', 'a key stands twice'],
    ['a: {x: 1, "x": 2}', 'application/yaml', 'a key stands twice'],
    ['{"spec":{"a":1,"a":2}}', 'application/yaml', 'a key stands twice'],
    ['{"spec":{"a":1,"a":2}}', 'application/json', 'a key stands twice'],
    ['? [a, b]\n: 1\n', 'application/yaml', 'no YAML'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'application/json', 'deeper than 64 levels'],
    [`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 'application/yaml', 'deeper than 64 levels'],
    [`${'['.repeat(66)}1${']'.repeat(66)}`, 'application/yaml', 'deeper than 64 levels'],
    ['a: &x [*x]', 'application/yaml', 'an alias is inside of its own anchor'],
    ['a: &x [1]\nb: &y {c: [*x]}', 'application/yaml', 'an alias is inside of its own anchor'],
    [aliases(101), 'application/yaml', 'more than 100 aliases'],
    ['a: &x {b: 1}\nc:\n  <<: *x', 'application/yaml', 'it merges maps'],
    ['a: !!js/function "x"', 'application/yaml', 'a tag other than !!str'],
    ['yes: a', 'application/yaml', 'a key is no text'],
    ['0600: a', 'application/yaml', 'a key is no text'],
    ['a: |\n  b', 'application/yaml', 'its last line has no end'],
    ['a: "\\/"', 'application/yaml', 'an escape that YAML 1.1 does not have'],
    ['{"a": "\\ud83d\\ude00"}', 'application/yaml', 'an escape that YAML 1.1 does not have'],
    ['a: "\u2028"', 'application/yaml', 'a character that YAML does not have'],
  ])('%s of %s is refused: %s', async (text, type, problem) => {
    expect(await parse(text, type)).toEqual({ problem: expect.stringContaining(problem) });
  });

  const inexact = { problem: expect.stringContaining('a number that is infinite') };

  it.each(['1e400', '-1e400', '[0, [1e999]]', '9007199254740992', '-9007199254740993', '1e300'])(
    'of JSON with a number that would become another one is refused: %s',
    async (number) => expect(await parse(`{"ttl":${number}}`, 'application/json')).toEqual(inexact),
  );

  it.each(['.inf', '-.Inf', '+.INF', '.nan', '.NaN', '9007199254740993', '0xFFFFFFFFFFFFFFFF'])(
    'of YAML with a number that would become another one is refused: %s',
    async (number) => expect(await parse(`ttl: ${number}`)).toEqual(inexact),
  );

  it.each(['{"spec":{"ttl":1e400}}', '[{"op":"add","path":"/spec/ttl","value":-1e400}]'])(
    'that is a patch with a number that is infinite is refused: %s',
    async (text) => await expect(patchOf(text)).rejects.toThrow(Refusal),
  );

  it.each(['json', 'yaml'])('of %s with more values than any object has is refused', async (type) => {
    const list = `[${'0,'.repeat(4_100)}0]`;
    const text = type === 'json' ? `{"a":${list}}` : `a: ${list}`;
    const problem = expect.stringContaining('it holds more than 4096 values');
    expect(await parse(text, `application/${type}`)).toEqual({ problem });
    await expect(patchOf(list)).rejects.toThrow(Refusal);
  });

  it('of JSON with a long text is read, whatever stands in the text', async () => {
    const a = `[,{"é\\`.repeat(50_000);
    expect(await parse(JSON.stringify({ a }), 'application/json')).toEqual({ value: { a } });
    expect(await patchOf(JSON.stringify([a]))).toEqual([a]);
  });

  it.each([
    ['small', 100, 0],
    ['large', 40_000, 1],
  ])(
    'that is %s lets others come to their turn before it is parsed as often as it takes',
    async (_, size, turns) => {
      const text = JSON.stringify({ a: 'x'.repeat(size) });
      let taken = 0;
      const turn = async () => {
        taken += 1;
      };
      await parseBody(Buffer.from(text), 'application/json', { ...source, turn });
      expect(taken).toBe(turns);
      await patchOf(text, turn);
      expect(taken).toBe(2 * turns);
    },
  );

  it.each([
    ['no object', '- a'],
    ['nothing', ''],
  ])('with %s is no object', async (_, text) => {
    await expect(read(text)).rejects.toThrow(Refusal);
  });

  it.each([
    ['{"key": "a-key-that-nobody-may-see', 'application/json'],
    ['key: "a-key-that-nobody-may-see', 'application/yaml'],
    ['a-key-that-nobody-may-see: 1\na-key-that-nobody-may-see: 2', 'application/yaml'],
  ])('that cannot be read is not quoted: %s', async (text, type) => {
    try {
      await read(text, type);
      expect.unreachable();
    } catch (error) {
      expect((error as Refusal).answer.body).not.toContain('a-key');
    }
  });
});

describe('a body of many values', () => {
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`k${at}`, 0])));

  it.each([
    ['application/json', 2 ** 16],
    ['application/merge-patch+json', 2 ** 16],
    ['application/yaml', many.length],
  ])('of %s is received whole, and %i bytes of it are held', async (type, bytes) => {
    let held = 0;
    const request = requestOf(many, type);
    const reading = readWholeBody({
      ...{ request, response: {}, clock: systemClock, maxStallMs: 1_000 },
      ...{
        turn: async () => undefined,
        enterLargeBody: async () => () => undefined,
        onOver: () => undefined,
      },
      held: {
        take: (more: number) => {
          held += more;
          return undefined;
        },
      },
    } as unknown as Parameters<typeof readWholeBody>[0]);
    const problem = await reading.then(
      () => undefined,
      (error) => JSON.parse((error as Refusal).answer.body).message,
    );
    expect(problem).toEqual(
      type.endsWith('yaml') ? undefined : expect.stringContaining('more than 4096 values'),
    );
    expect(held).toBe(bytes);
    expect(request.readableEnded).toBe(true);
  });

  const requestOf = (text: string, type: string) => {
    const pieces = text.match(/.{1,16384}/g) ?? [];
    const headers = { 'content-type': type, 'content-length': `${text.length}` };
    return Object.assign(Readable.from(pieces.map((piece) => Buffer.from(piece))), { headers });
  };
});
