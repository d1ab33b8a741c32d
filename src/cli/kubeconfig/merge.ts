import { existsSync, readFileSync } from 'node:fs';
import { type Document, isMap, isScalar, isSeq, parseDocument, YAMLSeq } from 'yaml';
import { toYAML } from '../output/yaml.ts';
import { usage } from '../shared/failure.ts';

interface Named {
  readonly name: string;
}

export interface Kubeconfig {
  readonly clusters: readonly Named[];
  readonly contexts: readonly Named[];
  readonly users: readonly Named[];
  readonly 'current-context': string;
}

const lists = ['clusters', 'contexts', 'users'] as const;

/** The text of a kubeconfig with these entries in it, and all others and comments as they were. Throws a Failure. */
export function mergeKubeconfig(file: string, added: Kubeconfig): string {
  const present = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (present.trim() === '') return toYAML(added);
  const document = parseDocument(present);
  if (document.errors.length > 0 || !isMap(document.contents))
    throw usage(
      `${file} is no kubeconfig that can be read`,
      'Correct it, or give another file with `--file`.',
    );
  for (const list of lists) mergeList(document, { file, list, added: added[list] });
  document.set('current-context', added['current-context']);
  return document.toString({ lineWidth: 0 });
}

const isEmptyScalar = (node: unknown): boolean => isScalar(node) && node.value === null;

interface MergedList {
  readonly file: string;
  readonly list: (typeof lists)[number];
  readonly added: readonly Named[];
}

/** An entry takes the place of the one that has its name. */
function mergeList(document: Document, { file, list, added }: MergedList): void {
  const found = document.get(list);
  const isThere = found !== undefined && found !== null && !isEmptyScalar(found);
  if (isThere && !isSeq(found))
    throw usage(`${list} in ${file} is no list`, 'Correct it, or give another file with `--file`.');
  const entries = isSeq(found) ? found : new YAMLSeq();
  if (!isSeq(found)) document.set(list, entries);
  entries.flow = false;
  for (const entry of added) {
    const at = entries.items.findIndex((item) => isMap(item) && item.get('name') === entry.name);
    entries.items[at === -1 ? entries.items.length : at] = document.createNode(entry);
  }
}
