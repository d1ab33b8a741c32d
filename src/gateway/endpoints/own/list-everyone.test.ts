import { describe, expect, it } from 'vitest';
import { asksForEveryone } from './list-everyone.ts';
import type { OwnRequest } from './request.ts';

const ask = (verb: string, query: string) => {
  const asked = { verb } as OwnRequest['asked'];
  return asksForEveryone({ asked, query: new URLSearchParams(query) });
};

describe('a request for the credentials of everyone', () => {
  it.each([
    ['list', 'everyone=true&limit=5', true],
    ['list', 'limit=5', false],
    ['deletecollection', 'limit=5', false],
  ])('by %s with %s: %s', (verb, query, expected) => {
    expect(ask(verb, query)).toBe(expected);
  });

  it.each([
    ['', 'everyone=true'],
    ...['get', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'].map((verb) => [
      verb,
      'everyone=true',
    ]),
    ['list', 'everyone='],
    ['list', 'everyone=false'],
    ['list', 'everyone=true&everyone=true'],
  ])('by %s with %s is refused: it must not be taken for one about one\u2019s own', (verb, query) => {
    expect(() => ask(verb, query)).toThrow('ERR_QUERY');
  });
});
