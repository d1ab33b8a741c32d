// Puts the programs of the local control plane into the cache, so that a later step finds them: what CI runs first.
//   node lab/controlplane/install.ts
// Prints the folder on standard output and the progress on standard error.
import path from 'node:path';
import { controlPlaneBinaries } from './binaries/binaries.ts';
import { messageOf } from './binaries/source.ts';
import { endWithNpm } from './end-with-npm.ts';

endWithNpm();
try {
  const binaries = await controlPlaneBinaries();
  process.stdout.write(`${path.dirname(binaries.etcd)}\n`);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
