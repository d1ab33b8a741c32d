import { dirname, join, normalize } from 'node:path/posix';

/** Source files by path from the root of the project, with `/`. */
export type Sources = ReadonlyMap<string, string>;

interface Import {
  readonly from: string;
  readonly to: string;
}

/** The subfolders of one folder by name, and of each what it imports from its neighbours, with one import as example. */
type Neighbours = ReadonlyMap<string, ReadonlyMap<string, Import>>;

/**
 * The circles between folders, as sentences with an example import for each step; empty when there are none. Type
 * imports count: a reader follows them too. At every depth the subfolders count, and the files directly in a folder
 * count as one more; only in the topmost folder does each file count for itself.
 */
export function folderCycles(sources: Sources, top: string): readonly string[] {
  const imports = importsOf(sources);
  return foldersOf(sources, top).flatMap((folder) => {
    const subfolderOf = (path: string): string => subfolderName(path, folder, folder === top);
    const cycle = findCycle(neighboursOf(imports, folder, subfolderOf));
    return cycle === undefined ? [] : [`${folder}: ${cycle.map(sentence).join('; ')}`];
  });
}

const sentence = ({ from, to }: Import): string => `${from} imports ${to}`;

const specifier = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

function importsOf(sources: Sources): readonly Import[] {
  return [...sources].flatMap(([from, text]) =>
    [...text.matchAll(specifier)].map(([, path = '']) => ({
      from,
      to: normalize(join(dirname(from), path)),
    })),
  );
}

/** The topmost folder and every folder below it. */
function foldersOf(sources: Sources, top: string): readonly string[] {
  const folders = new Set([top]);
  for (const path of sources.keys())
    for (let folder = dirname(path); folder.startsWith(`${top}/`); folder = dirname(folder))
      folders.add(folder);
  return [...folders].sort();
}

const ownFiles = '(files)';

function subfolderName(path: string, folder: string, filesCount: boolean): string {
  const [first = '', ...rest] = path.slice(folder.length + 1).split('/');
  return rest.length > 0 || filesCount ? first : ownFiles;
}

function neighboursOf(
  imports: readonly Import[],
  folder: string,
  subfolderOf: (path: string) => string,
): Neighbours {
  const inside = ({ from, to }: Import) => from.startsWith(`${folder}/`) && to.startsWith(`${folder}/`);
  const folders = new Map<string, Map<string, Import>>();
  for (const each of imports.filter(inside)) {
    const [from, to] = [subfolderOf(each.from), subfolderOf(each.to)];
    if (from === to) continue;
    const known = folders.get(from) ?? new Map<string, Import>();
    folders.set(from, known.has(to) ? known : known.set(to, each));
  }
  return folders;
}

/** Depth first: a folder that is met again while it is still being walked through closes a circle. */
function findCycle(folders: Neighbours): readonly Import[] | undefined {
  const done = new Set<string>();
  const walk = (
    folder: string,
    path: readonly string[],
    steps: readonly Import[],
  ): readonly Import[] | undefined => {
    if (path.includes(folder)) return steps.slice(path.indexOf(folder));
    if (done.has(folder)) return undefined;
    for (const [next, example] of folders.get(folder) ?? []) {
      const found = walk(next, [...path, folder], [...steps, example]);
      if (found !== undefined) return found;
    }
    done.add(folder);
    return undefined;
  };
  for (const folder of folders.keys()) {
    const found = walk(folder, [], []);
    if (found !== undefined) return found;
  }
  return undefined;
}
