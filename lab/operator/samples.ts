import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Applied } from './kubectl.ts';
import { configFolder } from './kustomization.ts';

/** Every object of config/samples, or of a folder in it, in the order of the files. Folders in it are not looked into. */
export async function samples(folder = '.'): Promise<readonly Applied[]> {
  const place = path.join(configFolder, 'samples', folder);
  const names = (await readdir(place)).filter(
    (name) => /\.ya?ml$/.test(name) && !/^kustomization\./.test(name),
  );
  const texts = await Promise.all(
    names.sort().map(async (name) => await readFile(path.join(place, name), 'utf8')),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Applied));
}
