import { readdirSync, readFileSync } from 'node:fs';

/** The texts of the page by name, from the sources. The bundle holds them itself: tools/bundle puts its own form of this module there. */
export function readPageFiles(): Readonly<Record<string, string>> {
  const folder = new URL('../../page/', import.meta.url);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:html|css|js|svg)$/.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
}
