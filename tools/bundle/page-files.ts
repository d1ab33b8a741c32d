import type { Plugin } from 'esbuild';
import { readPageFiles } from '../../src/gateway/page/page-files.ts';

/** Puts the files of the page into the bundle, which stands alone. */
export const pageFiles: Plugin = {
  name: 'page-files',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]gateway[/\\]page[/\\]page-files\.ts$/ }, () => ({
      contents: `export const readPageFiles = () => (${JSON.stringify(readPageFiles())});`,
    }));
  },
};
