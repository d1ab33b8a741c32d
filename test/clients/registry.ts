import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Guard } from '../../lab/controlplane/guard.ts';
import { buildGoProgram } from '../../lab/go/build-program.ts';
import { until } from '../../lab/operator/until.ts';

/** Starts a real registry, empty, without TLS. Ends with the guard. @returns host and port. @throws Error where there is no `go`. */
export async function startRegistry(guard: Guard): Promise<string> {
  const program = path.join(guard.folder, 'registry');
  const hasGo = await buildGoProgram(import.meta.dirname, program, { package: './registry' });
  if (!hasGo) throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
  const { logPath } = await guard.run({ name: 'registry', command: program, args: [] });
  return await until('the registry listens', async () => {
    const [line = ''] = (await readFile(logPath, 'utf8')).split('\n');
    return /^127\.0\.0\.1:\d+$/.test(line) ? line : undefined;
  });
}
