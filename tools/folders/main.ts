import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { folderCycles, type Sources } from './folder-cycles.ts';

/** No two folders of `src` import each other: prints each circle, and ends with 1 when there is one. */
const cycles = folderCycles(await readSources('src'), 'src');
for (const cycle of cycles) console.error(`folders import each other in ${cycle}`);
process.exitCode = cycles.length === 0 ? 0 : 1;

async function readSources(top: string): Promise<Sources> {
  const paths = await Array.fromAsync(glob(`${top}/**/*.ts`));
  const sources = paths.filter((path) => !path.endsWith('.test.ts')).sort();
  return new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));
}
