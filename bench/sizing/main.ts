import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runCommandLine } from '../command-line.ts';
import { machineFacts } from '../measure/machine.ts';
import { parseOptions } from '../options.ts';
import { measureSizing } from './measure.ts';
import { plotSizing, type Sizing } from './plot.ts';
import { sizingTable } from './table.ts';

const usage = `usage: npm run sizing -- [--keys 0,1000,10000,100000] [--idle SECONDS] [--plot]

  --keys LIST   numbers of access keys (0,1000,10000,100000)
  --idle N      seconds for which an idle process is measured (30)
  --plot        measure nothing, and draw what bench/results/sizing.json holds`;

interface Wanted {
  readonly counts: readonly number[];
  readonly idleSeconds: number;
  readonly plot: boolean;
}

const fileOf = (name: string): string => path.join(import.meta.dirname, '../results', name);

function numbersIn(list: string): readonly number[] {
  const numbers = list.split(',').map(Number);
  if (!numbers.every((number) => Number.isInteger(number) && number >= 0))
    throw new TypeError(`"${list}" is no list of whole numbers`);
  return numbers.toSorted((one, other) => one - other);
}

async function measured({ counts, idleSeconds }: Wanted): Promise<Sizing> {
  const progress = (text: string) => console.error(text);
  const context = { options: parseOptions([]), progress, idleSeconds };
  const [facts, ...others] = await machineFacts();
  const figures = await measureSizing({ ...context, counts });
  const date = new Date().toISOString().slice(0, 10);
  return { measured: [date, facts, ...others].join('; '), figures };
}

function parseWanted(args: readonly string[]): Wanted {
  const { values } = parseArgs({
    args: [...args],
    options: {
      keys: { type: 'string', default: '0,1000,10000,100000' },
      idle: { type: 'string', default: '30' },
      plot: { type: 'boolean', default: false },
    },
  });
  const [idleSeconds = 30] = numbersIn(values.idle);
  return { counts: numbersIn(values.keys), idleSeconds, plot: values.plot };
}

async function main(wanted: Wanted): Promise<void> {
  if (!wanted.plot)
    await writeFile(fileOf('sizing.json'), `${JSON.stringify(await measured(wanted), null, 2)}\n`);
  const sizing = JSON.parse(await readFile(fileOf('sizing.json'), 'utf8')) as Sizing;
  await writeFile(fileOf('sizing.svg'), plotSizing(sizing));
  console.log(sizingTable(sizing));
}

await runCommandLine(usage, parseWanted, main);
