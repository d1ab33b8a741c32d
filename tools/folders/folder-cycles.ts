import { dirname, join, normalize } from 'node:path/posix';

/** Source files by path from the root of the project, with `/`. */
export type Sources = ReadonlyMap<string, string>;

interface Import {
  readonly from: string;
  readonly to: string;
}

/** Rooms of one folder by name, and of each room what it imports from its neighbours, with one import as example. */
type Neighbours = ReadonlyMap<string, ReadonlyMap<string, Import>>;

/**
 * The circles between folders, as sentences with an example import for each step; empty when there are none. Type
 * imports count: a reader follows them too. At every depth the subfolders of a folder are rooms, and the files that
 * stand directly in it are one room together; only in the topmost folder is each file a room of its own.
 */
export function folderCycles(sources: Sources, top: string): readonly string[] {
  const imports = importsOf(sources);
  return foldersOf(sources, top).flatMap((folder) => {
    const roomOf = (path: string): string => nameOfRoom(path, folder, folder === top);
    const cycle = findCycle(neighboursOf(imports, folder, roomOf));
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

function nameOfRoom(path: string, folder: string, filesAreRooms: boolean): string {
  const [first = '', ...rest] = path.slice(folder.length + 1).split('/');
  return rest.length > 0 || filesAreRooms ? first : ownFiles;
}

function neighboursOf(
  imports: readonly Import[],
  folder: string,
  roomOf: (path: string) => string,
): Neighbours {
  const inside = ({ from, to }: Import) => from.startsWith(`${folder}/`) && to.startsWith(`${folder}/`);
  const rooms = new Map<string, Map<string, Import>>();
  for (const each of imports.filter(inside)) {
    const [from, to] = [roomOf(each.from), roomOf(each.to)];
    if (from === to) continue;
    const known = rooms.get(from) ?? new Map<string, Import>();
    rooms.set(from, known.has(to) ? known : known.set(to, each));
  }
  return rooms;
}

/** Depth first: a room that is met again while it is still being walked through closes a circle. */
function findCycle(rooms: Neighbours): readonly Import[] | undefined {
  const done = new Set<string>();
  const walk = (
    room: string,
    path: readonly string[],
    steps: readonly Import[],
  ): readonly Import[] | undefined => {
    if (path.includes(room)) return steps.slice(path.indexOf(room));
    if (done.has(room)) return undefined;
    for (const [next, example] of rooms.get(room) ?? []) {
      const found = walk(next, [...path, room], [...steps, example]);
      if (found !== undefined) return found;
    }
    done.add(room);
    return undefined;
  };
  for (const room of rooms.keys()) {
    const found = walk(room, [], []);
    if (found !== undefined) return found;
  }
  return undefined;
}
