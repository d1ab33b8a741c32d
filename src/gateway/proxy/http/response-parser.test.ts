import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadResponse } from './response-head.ts';
import { ResponseParser } from './response-parser.ts';

interface Answer {
  status: number;
  headers: string[];
  body: string;
  /** Undefined while it is not whole. */
  isPersistent: boolean | undefined;
}

/** A parser that waits for the answers to requests with this method, one after the other. */
function startParser(method = 'GET') {
  const answers: Answer[] = [];
  const last = () => answers.at(-1) as Answer;
  const parser = new ResponseParser({
    onHead: (status, headers) => void answers.push({ status, headers, body: '', isPersistent: undefined }),
    onData: (chunk) => {
      last().body += chunk.toString('latin1');
    },
    onEnd: (isPersistent) => {
      last().isPersistent = isPersistent;
    },
    onUpgrade: () => undefined,
  });
  parser.begin(method);
  return { parser, answers };
}

/** The answer that these bytes are, however they arrive. */
function parse(text: string, { method = 'GET', pieces = [text] as readonly string[], isOver = false } = {}) {
  const { parser, answers } = startParser(method);
  for (const piece of pieces) parser.read(Buffer.from(piece, 'latin1'));
  parser.flush();
  if (isOver) parser.end();
  return answers[0];
}

const ok = (headers: readonly string[], body = '') => ['HTTP/1.1 200 OK', ...headers, '', body].join('\r\n');
const chunked = (body: string) => ok(['Transfer-Encoding: chunked'], body);

describe('an answer', () => {
  it.each<[string, string, string, boolean | undefined]>([
    ['a length', ok(['Content-Length: 5'], 'hello'), 'hello', true],
    ['no body', ok(['Content-Length: 0']), '', true],
    ['half of its body', ok(['Content-Length: 10'], 'hello'), 'hello', undefined],
    ['chunks', chunked('5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n'), 'hello!', true],
    ['chunks and extensions', chunked('5;a=b;c="d"\r\nhello\r\n0;e\r\n\r\n'), 'hello', true],
    ['chunks and trailers', chunked('5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n'), 'hello', true],
    ['large digits', chunked(`A\r\n${'x'.repeat(10)}\r\n0\r\n\r\n`), 'xxxxxxxxxx', true],
    ['no last chunk', chunked('5\r\nhello\r\n'), 'hello', undefined],
    ['an end with the connection', ok([], 'hello'), 'hello', undefined],
    ['Connection: close', ok(['Connection: a, Close', 'Content-Length: 0']), '', false],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 'ok', false],
    ['no reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 'ok', true],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
    ['204 with the length 0', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', '', true],
    ['304 with a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', '', false],
    [
      'a hint in front',
      `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${ok(['Content-Length: 2'], 'ok')}`,
      'ok',
      true,
    ],
  ])('with %s is read', (_, text, body, isPersistent) => {
    expect(parse(text)).toMatchObject({ body, isPersistent });
  });

  it('ends with the connection where it does not say anything else', () => {
    expect(parse(ok([], 'hello'), { isOver: true })).toMatchObject({ body: 'hello', isPersistent: false });
    expect(parse(ok(['Content-Length: 6'], 'hello'), { isOver: true })?.isPersistent).toBeUndefined();
  });

  it('to HEAD has no body, and no other answer follows it', () => {
    const answer = parse(ok(['Content-Length: 5']), { method: 'HEAD' });
    expect(answer).toMatchObject({ body: '', isPersistent: false });
  });

  it('keeps its headers as they came, without blanks around their values', () => {
    const answer = parse(ok(['X-One:1', 'x-two: \t2 3\t ', 'X-One:  \xe4', 'X-None:', 'Content-Length: 0']));
    expect(answer?.headers).toEqual([
      'X-One',
      '1',
      'x-two',
      '2 3',
      'X-One',
      '\xe4',
      'X-None',
      '',
      'Content-Length',
      '0',
    ]);
  });

  it.each([
    ok(['Content-Length: 12'], 'hello, world'),
    chunked('5;a=b\r\nhello\r\n7\r\n, world\r\n0\r\nA: b\r\n\r\n'),
    `HTTP/1.1 102 Processing\r\n\r\n${chunked('c\r\nhello, world\r\n0\r\n\r\n')}`,
  ])('is the same in whatever pieces it arrives: %j', (text) => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
        const places = [0, ...cuts.sort((one, other) => one - other), text.length];
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
        expect(parse(text, { pieces })).toEqual(parse(text));
      }),
    );
  });

  it('with thousands of blanks within its headers is read a thousand times in the time of this test', () => {
    const text = ok([`X: a${' '.repeat(15_000)}a `, 'Content-Length: 0']);
    for (let count = 0; count < 1_000; count += 1) expect(parse(text)?.isPersistent).toBe(true);
  });

  it('of a megabyte in small chunks arrives in few blocks', () => {
    const blocks: number[] = [];
    const parser = new ResponseParser({
      onHead: () => undefined,
      onData: (chunk) => void blocks.push(chunk.length),
      onEnd: () => undefined,
      onUpgrade: () => undefined,
    });
    parser.begin('GET');
    parser.read(Buffer.from(ok(['Transfer-Encoding: chunked'])));
    for (let index = 0; index < 1_024; index += 1)
      parser.read(Buffer.from(`400\r\n${'a'.repeat(1_024)}\r\n`));
    parser.read(Buffer.from('0\r\n\r\n'));
    expect(blocks.reduce((sum, size) => sum + size, 0)).toBe(2 ** 20);
    expect(blocks.length).toBeLessThan(40);
  });
});

describe('what is no answer', () => {
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n'],
    ['HTTP/0.9', 'hello'],
    ['an empty line in front', `\r\n${ok(['Content-Length: 0'])}`],
    ['no status', 'HTTP/1.1  OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
    [
      'a switch of protocols',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['an order to go on', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['two lengths', ok(['Content-Length: 1', 'Content-Length: 2'])],
    ['the same length twice', ok(['Content-Length: 1', 'Content-Length: 1'])],
    ['a list of lengths', ok(['Content-Length: 1, 1'])],
    ['a length with a sign', ok(['Content-Length: +1'])],
    ['a length in hexadecimal', ok(['Content-Length: 0x1'])],
    ['an empty length', ok(['Content-Length:'])],
    ['an endless length', ok([`Content-Length: ${'9'.repeat(20)}`])],
    ['204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n'],
    ['204 with chunks', 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a hint with a length', 'HTTP/1.1 103 Early Hints\r\nContent-Length: 1\r\n\r\n'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a length and chunks', ok(['Content-Length: 1', 'Transfer-Encoding: chunked'])],
    ['chunks twice', ok(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'])],
    ['another encoding', ok(['Transfer-Encoding: gzip, chunked'])],
    ['a header without a colon', ok(['nothing'])],
    ['a header without a name', ok([': a'])],
    ['a blank in front of the colon', ok(['Content-Length : 5'])],
    ['a header that goes on in the next line', ok(['X: a', ' b'])],
    ['a line that ends with LF alone', 'HTTP/1.1 200 OK\nX: a\r\n\r\n'],
    ['CR within a header', ok(['X: a\rContent-Length: 5'])],
    ['NUL within a header', ok(['X: a\0'])],
    ['an endless head', ok(['X: aaaaaaaaaaaaaaaa'.repeat(2_000)])],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'X: aaaaaaaaaaaaaaaa\r\n'.repeat(2_000)}`],
    ['no size of a chunk', chunked('\r\nhello')],
    ['a chunk size with a sign', chunked('-5\r\nhello\r\n')],
    ['a chunk size with a prefix', chunked('0x5\r\nhello\r\n')],
    ['a chunk size behind a blank', chunked(' 5\r\nhello\r\n')],
    ['a chunk size with LF alone', chunked('5\nhello\r\n')],
    ['a chunk size that does not end', chunked('000000005\r\nhello\r\n')],
    ['a chunk that is longer than it says', chunked('4\r\nhello\r\n')],
    ['an extension with LF', chunked('5;a\nb\r\nhello\r\n')],
    ['an endless extension', chunked(`5;${'a'.repeat(20_000)}`)],
    ['an extension of each chunk', chunked(`1;${'a'.repeat(16_000)}\r\nb\r\n`.repeat(2))],
    ['endless trailers', chunked(`0\r\n${'X: aaaaaaaaaaaaaaaa\r\n'.repeat(2_000)}`)],
    ['bytes behind the body', ok(['Content-Length: 2'], 'okHTTP/1.1 200 OK\r\n\r\nevil')],
    ['bytes behind the last chunk', chunked('0\r\n\r\nevil')],
  ])('is refused: %s', (_, text) => {
    expect(() => parse(text)).toThrow(BadResponse);
    expect(() => parse(text, { pieces: [...text] })).toThrow(BadResponse);
  });

  it('is not read to an end that it seems to have behind its fault', () => {
    const { parser, answers } = startParser();
    expect(() => parser.read(Buffer.from(chunked('zz')))).toThrow(BadResponse);
    parser.read(Buffer.from('0\r\n\r\n'));
    expect([answers[0]?.isPersistent, parser.end()]).toEqual([undefined, false]);
  });

  it('is what comes while no request is under way', () => {
    const { parser } = startParser();
    parser.read(Buffer.from(ok(['Content-Length: 0'])));
    expect(() => parser.read(Buffer.from('H'))).toThrow(BadResponse);
  });

  it('never breaks the parser', () => {
    const word = fc.constantFrom(
      'HTTP/1.1 200 OK',
      '\r\n',
      '\r',
      '\n',
      'Content-Length: 3',
      '0',
      'a',
      ': ',
      ';',
      '\0',
    );
    const pieces = fc.array(fc.oneof(word, fc.string(), fc.constant('Transfer-Encoding: chunked\r\n\r\n')));
    fc.assert(
      fc.property(pieces, (texts) => {
        try {
          parse('', { pieces: texts });
        } catch (error) {
          expect(error).toBeInstanceOf(BadResponse);
        }
      }),
    );
  });
});
