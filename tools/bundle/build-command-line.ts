import path from 'node:path';
import { build, type Metafile } from 'esbuild';

const root = path.join(import.meta.dirname, '../..');

/**
 * Writes the command line as one CommonJS file, which starts faster than a module and fits into a single executable. Parts that a command
 * loads by `import()` are in it, and run when they are asked for.
 */
export async function buildCommandLine(outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/cli/main.ts'],
    outfile: path.resolve(root, outfile),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    // Older than what operator and gateway need: it runs on the machines of others.
    target: 'node22.15',
    banner: { js: '#!/usr/bin/env node' },
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}
