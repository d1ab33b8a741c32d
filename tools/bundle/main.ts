import { statSync, writeFileSync } from 'node:fs';
import { buildBundle } from './build-bundle.ts';
import { buildCommandLine } from './build-command-line.ts';
import { licenceTexts, packageFolders } from './licences.ts';

const outfile = 'dist/latchkey.mjs';

const { inputs } = await buildBundle(outfile);
const folders = packageFolders(Object.keys(inputs));
writeFileSync('dist/THIRD_PARTY_LICENSES', licenceTexts(folders));
console.log(`${outfile}: ${Math.round(statSync(outfile).size / 1024)} KiB, ${folders.length} packages`);

const commandLine = 'dist/latchkey-cli.cjs';
await buildCommandLine(commandLine);
console.log(`${commandLine}: ${Math.round(statSync(commandLine).size / 1024)} KiB`);
