import { readFileSync } from 'node:fs';
import { isAsShown } from '../../../tools/reference/shown-output.ts';

/** Takes a file with what a page shows and one with what the command said. The exit code says whether they are the same. */
const [shown = '', said = ''] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8'));
process.exitCode = isAsShown(shown, said) ? 0 : 1;
