import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { configFolder } from '../integration/config/install.ts';
import type { Applied } from './kubectl.ts';

/** Every object of config/samples, in the order of the files. */
export async function samples(): Promise<readonly Applied[]> {
  const folder = path.join(configFolder, 'samples');
  const names = (await readdir(folder)).filter(
    (name) => /\.ya?ml$/.test(name) && !/^kustomization\./.test(name),
  );
  const texts = await Promise.all(
    names.sort().map(async (name) => await readFile(path.join(folder, name), 'utf8')),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Applied));
}
