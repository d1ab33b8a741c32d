// Puts the clients for Python and Java into the cache, where their lane finds them.
//   node test/languages/install.ts
import { endWithNpm } from '../../lab/controlplane/end-with-npm.ts';
import { languagePackages } from './packages.ts';

endWithNpm();
const report = (text: string): void => void process.stderr.write(`${text}\n`);
try {
  await languagePackages(report);
} catch (error) {
  report((error as Error).message);
  process.exitCode = 1;
}
