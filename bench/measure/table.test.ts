import { describe, expect, it } from 'vitest';
import { figure, tableOf } from './table.ts';

describe('a figure', () => {
  it.each([
    [0, '0'],
    [3, '3'],
    [0.128, '0.13'],
    [9.996, '10.00'],
    [14.26, '14.3'],
    [123.6, '124'],
    [15_234.7, '15,235'],
  ])('%d reads %s', (value, text) => {
    expect(figure(value)).toBe(text);
  });
});

describe('a table', () => {
  const measures = [
    { key: 'rate', title: 'a second' },
    { key: 'cpu', title: 'CPU, µs' },
  ];

  it('has median and spread of each contender', () => {
    const samples = new Map([
      [
        'ours',
        [
          { rate: 100, cpu: 1.5 },
          { rate: 300, cpu: 1.25 },
          { rate: 200, cpu: 1.75 },
        ],
      ],
      ['limit', [{ rate: 400 }]],
    ]);
    expect(tableOf(samples, measures).split('\n')).toEqual([
      '|  | a second | CPU, µs |',
      '| --- | ---: | ---: |',
      '| ours | **200** (100–300) | **1.50** (1.25–1.75) |',
      '| limit | **400** | – |',
    ]);
  });
});
