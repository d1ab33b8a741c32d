import type { Plugin } from 'esbuild';

const name = '@kubernetes/client-node';
const namespace = 'client-node-parts';

/**
 * The parts of the package that the program uses. The base class of the operator makes a client of the core API in its
 * constructor and never calls it, so that class is empty here.
 */
const used = `
export { KubeConfig } from '${name}/dist/config.js';
export class CoreV1Api {}
`;

/** The generated modules that `KubeConfig` uses. */
const usedGenerated = `
export { createConfiguration } from '${name}/dist/gen/configuration.js';
export { ServerConfiguration } from '${name}/dist/gen/servers.js';
`;

/**
 * Leaves the generated modules of @kubernetes/client-node out: more than 800, one for each kind and group of Kubernetes, which take
 * 50 MB of memory as soon as the package is loaded. A part that is missing here ends the build, and a call of one ends in a TypeError.
 */
export const clientNodeParts: Plugin = {
  name: 'client-node-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ namespace, path: 'used' }));
    onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer }) =>
      importer.includes(`${name}/dist/`) ? { namespace, path: 'usedGenerated' } : undefined,
    );
    onLoad({ filter: /^used$/, namespace }, () => ({ contents: used, resolveDir: import.meta.dirname }));
    onLoad({ filter: /^usedGenerated$/, namespace }, () => ({
      contents: usedGenerated,
      resolveDir: import.meta.dirname,
    }));
  },
};
