import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildCommandLine } from '../bundle/build-command-line.ts';

const run = promisify(execFile);

/** By these Node finds what was added to its program, and knows that something was. */
const section = 'NODE_SEA_BLOB';
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** A process of its own, because it warns of sections of every Node. */
const postject = fileURLToPath(import.meta.resolve('postject/dist/cli.js'));

/** Writes the command line with this Node as one program of this system. Node 25.5 or newer does that by itself (`--build-sea`). */
export async function buildExecutable(outfile: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'latchkey-executable-'));
  try {
    const [main, output, config] = ['latchkey.cjs', 'blob', 'config.json'].map((name) =>
      path.join(folder, name),
    ) as [string, string, string];
    await buildCommandLine(main);
    const settings = { main, output, disableExperimentalSEAWarning: true, useCodeCache: true };
    await writeFile(config, JSON.stringify(settings));
    await run(process.execPath, ['--experimental-sea-config', config]);
    await mkdir(path.dirname(outfile), { recursive: true });
    await copyFile(process.execPath, outfile);
    await run(process.execPath, [postject, outfile, section, output, '--sentinel-fuse', fuse]);
    await chmod(outfile, 0o755);
  } finally {
    await rm(folder, { recursive: true });
  }
}
