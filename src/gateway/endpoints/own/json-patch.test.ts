import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../../test/fakes/cpu-time.ts';
import { applyJsonPatch, applyMergePatch, PatchProblem } from './change.ts';

const document = { a: { b: [1, 2, 3], 'c/d': 'x', 'e~f': 'y' }, g: null };

/** Adds 31 levels, and then copies all of them into the last one, again and again. */
const growing = (rounds: number) => [
  { op: 'add', path: '/x', value: JSON.parse(`${'{"x":'.repeat(30)}{}${'}'.repeat(30)}`) },
  ...Array.from({ length: rounds }, (_, round) => ({
    op: 'copy',
    from: '/x',
    path: '/x'.repeat(31 * 2 ** round + 1),
  })),
];

describe('a JSON patch', () => {
  it.each([
    ['adds a member', [{ op: 'add', path: '/h', value: 1 }], { ...document, h: 1 }],
    ['adds to the end of a list', [{ op: 'add', path: '/a/b/-', value: 4 }], { b: [1, 2, 3, 4] }],
    ['inserts into a list', [{ op: 'add', path: '/a/b/1', value: 9 }], { b: [1, 9, 2, 3] }],
    ['removes from a list', [{ op: 'remove', path: '/a/b/0' }], { b: [2, 3] }],
    ['replaces in a list', [{ op: 'replace', path: '/a/b/2', value: 8 }], { b: [1, 2, 8] }],
    ['reads escapes', [{ op: 'replace', path: '/a/c~1d', value: 'z' }], { 'c/d': 'z' }],
    ['reads escapes in order', [{ op: 'move', from: '/a/e~0f', path: '/a/n' }], { n: 'y' }],
    ['copies', [{ op: 'copy', from: '/a/b', path: '/a/m' }], { m: [1, 2, 3] }],
    [
      'tests null',
      [
        { op: 'test', path: '/g', value: null },
        { op: 'add', path: '/a/t', value: 1 },
      ],
      { t: 1 },
    ],
  ])('%s', (_, patch, expected) => {
    const result = applyJsonPatch(document, patch) as typeof document;
    expect('h' in expected ? result : result.a).toMatchObject(expected);
    expect(document.a.b).toEqual([1, 2, 3]);
  });

  it.each([
    ['no list', {}],
    ['an unknown operation', [{ op: 'merge', path: '/a' }]],
    ['no value', [{ op: 'add', path: '/a' }]],
    ['no pointer', [{ op: 'remove', path: 'a' }]],
    ['a path that is not there', [{ op: 'replace', path: '/x/y', value: 1 }]],
    ['a place behind the list', [{ op: 'add', path: '/a/b/4', value: 1 }]],
    ['a place that is no number', [{ op: 'add', path: '/a/b/01', value: 1 }]],
    ['a member of a text', [{ op: 'add', path: '/a/c~1d/x', value: 1 }]],
    ['an inherited member', [{ op: 'copy', from: '/constructor', path: '/x' }]],
    ['a value moved into itself', [{ op: 'move', from: '/a', path: '/a/b/x' }]],
    ['nothing left', [{ op: 'remove', path: '' }]],
    ['a failing test', [{ op: 'test', path: '/a/b/0', value: 2 }]],
    [
      'more operations than clients send',
      Array.from({ length: 1_001 }, () => ({ op: 'add', path: '/h', value: 1 })),
    ],
    ['more levels than any object has', growing(2)],
    // To walk through it would exhaust the stack.
    ['copies that double its levels', growing(12)],
    [
      'copies that grow without bounds',
      Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/b/-' })),
    ],
    [
      'copies of very many values',
      [
        { op: 'add', path: '/list', value: Array.from({ length: 4_000 }, () => []) },
        ...Array.from({ length: 10 }, (_, index) => ({ op: 'copy', from: '/list', path: `/l${index}` })),
      ],
    ],
  ])('with %s is a problem that repeats no value', (_, patch) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(PatchProblem);
  });

  it('may leave sixty levels', () => {
    expect(applyJsonPatch(document, growing(1))).toHaveProperty('x'.repeat(62).split(''), {});
  });

  it('may have a thousand operations', () => {
    const patch = Array.from({ length: 1_000 }, (_, value) => ({ op: 'add', path: '/a/b/0', value }));
    const result = applyJsonPatch(document, patch) as typeof document;
    expect(result.a.b).toEqual([...Array(1_000).keys()].reverse().concat([1, 2, 3]));
  });

  it('that moves the items of a long list a thousand times takes no second', () => {
    const list = { op: 'add', path: '/list', value: Array(400_000).fill(0) };
    const patch = [list, ...Array.from({ length: 999 }, () => ({ op: 'add', path: '/list/0', value: 1 }))];
    expect(cpuMs(() => applyJsonPatch(document, patch))).toBeLessThan(1_000);
  });

  it('does the same when it is applied again', () => {
    const patch = [
      { op: 'add', path: '/list', value: [1] },
      { op: 'add', path: '/list/-', value: 2 },
    ];
    const once = applyJsonPatch({}, patch);
    expect(once).toEqual({ list: [1, 2] });
    expect(applyJsonPatch({}, patch)).toEqual(once);
  });

  it('sets a member of any name without a trace elsewhere', () => {
    const result = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }]);
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('a merge patch', () => {
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }, { a: { c: 2, d: 3 } }],
    [{ a: [1] }, { a: [2, 3] }, { a: [2, 3] }],
    [{ a: 1 }, { a: { b: { c: null } } }, { a: { b: {} } }],
  ])('of %j with %j gives %j', (before, patch, after) => {
    expect(applyMergePatch(before, patch)).toEqual(after);
  });

  it('changes nothing when it is sent again', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (before, patch) => {
        const once = applyMergePatch(before, patch);
        expect(applyMergePatch(once, patch)).toEqual(once);
      }),
    );
  });
});
