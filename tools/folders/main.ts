import { globSync, readFileSync } from 'node:fs';
import { folderCycles, type Sources } from './folder-cycles.ts';

/** No two folders of `src` import each other: prints each circle, and ends with 1 when there is one. */
const cycles = folderCycles(readSources('src'), 'src');
for (const cycle of cycles) console.error(`folders import each other in ${cycle}`);
process.exitCode = cycles.length === 0 ? 0 : 1;

function readSources(top: string): Sources {
  const sources = globSync(`${top}/**/*.ts`)
    .filter((path) => !path.endsWith('.test.ts'))
    .sort();
  return new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));
}
