import { globSync, readFileSync } from 'node:fs';
import { unusedMembers } from './unused-members.ts';

/** Members of classes in `src` that only tests use: prints each, and ends with 1 when there is one. */
const paths = globSync('{src,tools}/**/*.{ts,mjs}').filter((path) => !path.endsWith('.test.ts'));
const unused = unusedMembers(new Map(paths.sort().map((path) => [path, readFileSync(path, 'utf8')])));
for (const member of unused) console.error(`nothing but tests uses ${member}`);
process.exitCode = unused.length === 0 ? 0 : 1;
