// npm run executable: the command line as one program that needs no Node.
import { statSync } from 'node:fs';
import { buildExecutable } from './build-executable.ts';

const outfile = 'dist/latchkey';
await buildExecutable(outfile);
console.log(`${outfile}: ${Math.round(statSync(outfile).size / 2 ** 20)} MiB, Node ${process.versions.node}`);
