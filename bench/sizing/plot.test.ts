import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { plotSizing, type Sizing } from './plot.ts';
import { sizingTable } from './table.ts';

const results = path.resolve(import.meta.dirname, '../results');
const stored = async (name: string) => await readFile(path.join(results, name), 'utf8');

const sizing: Sizing = {
  measured: 'two cores & <little> else',
  figures: [
    { program: 'operator', keys: 100, residentMebibytes: 150, startSeconds: 1, idlePercent: 0.5 },
    { program: 'gateway', keys: 0, residentMebibytes: 100, startSeconds: 0.5 },
    { program: 'gateway', keys: 100, residentMebibytes: 200, startSeconds: 2, relistSeconds: 3 },
  ],
};

describe('the plot of sizes', () => {
  it('has a curve for each program in each panel, and a point for each figure', () => {
    const picture = plotSizing(sizing);
    expect(picture.match(/<polyline /g)).toHaveLength(4);
    expect(picture.match(/<circle /g)).toHaveLength(6);
  });

  it('puts the highest figure at the top and nothing at the bottom', () => {
    const picture = plotSizing(sizing);
    expect(picture).toContain('<polyline points="60,150 320,50"');
    expect(picture).toContain('<polyline points="320,100"');
  });

  it('is the same for the same figures, in whatever order they come', () => {
    const turned = { ...sizing, figures: sizing.figures.toReversed() };
    expect(plotSizing(turned)).toBe(plotSizing(sizing));
  });

  it('escapes what stands in its caption', () => {
    expect(plotSizing(sizing)).toContain('>two cores &amp; &lt;little&gt; else</text>');
  });
});

describe('the table of sizes', () => {
  it('has a row for each figure, by program and keys, and a dash for what was not measured', () => {
    expect(sizingTable(sizing)).toBe(
      [
        '| | Access keys | Memory, MiB | Start, s | Relist, s | Idle CPU, % of a core |',
        '| --- | ---: | ---: | ---: | ---: | ---: |',
        '| gateway | 0 | 100 | 0.5 | – | – |',
        '| gateway | 100 | 200 | 2 | 3 | – |',
        '| operator | 100 | 150 | 1 | – | 0.5 |',
      ].join('\n'),
    );
  });
});

describe('the results', () => {
  it('have the picture and the table that belong to their figures', async () => {
    const figures = JSON.parse(await stored('sizing.json')) as Sizing;
    expect(await stored('sizing.svg')).toBe(plotSizing(figures));
    const guide = await readFile(path.resolve(results, '../../docs/reference/size.md'), 'utf8');
    expect(guide).toContain(sizingTable(figures));
  });
});
