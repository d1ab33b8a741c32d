import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The folders of the packages that the inputs of a bundle come from. */
export function packageFolders(inputs: readonly string[]): readonly string[] {
  const folders = inputs.flatMap(
    (file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
  );
  return [...new Set(folders)].sort();
}

/** The licence texts that the licences of bundled packages ask to be passed on with them. */
export function licenceTexts(folders: readonly string[]): string {
  return folders.map(sectionOf).join(`\n${'-'.repeat(80)}\n\n`);
}

function sectionOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  const texts = files.map((name) => readFileSync(path.join(folder, name), 'utf8').trim());
  const title = `${manifest.name} ${manifest.version} (${licenceName(manifest.license)})`;
  return `${[title, ...texts].join('\n\n')}\n`;
}

function licenceName(licence: unknown): string {
  return typeof licence === 'string' ? licence : 'see its text';
}
