import path from 'node:path';
import { build, type Metafile } from 'esbuild';
import { clientNodeParts } from './client-node-parts.ts';
import { pageFiles } from './page-files.ts';

const root = path.join(import.meta.dirname, '../..');

// Some packages are CommonJS inside and call require() for modules of Node: an ES module has none of its own.
const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * Writes the whole program as one ES module that needs Node and nothing else, and beside it the module of the thread that it starts.
 * Names are kept, so that stack traces stay readable.
 */
export async function buildBundle(outfile: string, program = 'src/main.ts'): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      [path.basename(outfile, '.mjs')]: program,
      'yaml-worker': 'src/gateway/yaml/yaml-worker.ts',
    },
    outdir: path.dirname(path.resolve(root, outfile)),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    plugins: [clientNodeParts, pageFiles],
    // A package that only tools need, which `debug` does without.
    external: ['supports-color'],
    format: 'esm',
    platform: 'node',
    target: 'node24.9',
    banner: { js: banner },
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: false,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}
