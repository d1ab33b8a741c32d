// Makes the calls of kubectl that the test makes, with the kubectl of another version; record.ts runs it, see README.md.
//   node test/clients/recorded/kubectl-calls.ts <kubectl>
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { kubectlCalls } from '../../outages/clients/kubectl-calls.ts';

const [program = 'kubectl'] = process.argv.slice(2);
/** The discovery that an earlier kubectl has read, so that no later one asks again. */
const cache = mkdtempSync(path.join(tmpdir(), 'kubectl-cache-'));
for (const [command, input = ''] of kubectlCalls)
  spawnSync(program, command.split(' '), { input, env: { ...process.env, KUBECACHEDIR: cache } });
rmSync(cache, { recursive: true });
