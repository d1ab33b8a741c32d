import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isAsShown } from '../../../tools/reference/shown-output.ts';

/** For each folder that it reads: whether the file `said`, of a command, is as the page shows it, in the file `shown`. */
for await (const folder of createInterface({ input: process.stdin })) {
  const [shown = '', said = ''] = ['shown', 'said'].map((name) =>
    readFileSync(path.join(folder, name), 'utf8'),
  );
  process.stdout.write(isAsShown(shown, said) ? 'same\n' : 'differs\n');
}
