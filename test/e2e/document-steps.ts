import { parseAllDocuments } from 'yaml';
import type { Applied } from '../../lab/operator/kubectl.ts';
import { readDocument } from '../../tools/reference/document.ts';

/** The variable in which the demo gives the kubeconfig of a person. KUBECONFIG is that of alice, SHOP of an administrator of the target. */
export type Person = 'KUBECONFIG' | 'ADMIN' | 'BOB' | 'SHOP';

/** Something that a page has a person do in one of its sections. */
export interface Step<Block = Command | Manifest> {
  readonly page: string;
  readonly section: string;
  readonly person: Person;
  readonly block: Block;
}

export interface Command {
  /** Of several lines where the page breaks it. */
  readonly command: string;
  /** As the page shows it. */
  readonly output: string;
}

export interface Manifest {
  /** Named like its first object. */
  readonly file: string;
  readonly content: string;
  readonly objects: readonly Applied[];
}

/** The steps of a page in its order. Each is taken as the person that the text of its section names last; without one, as alice. */
export const stepsOf = (page: string): readonly Step[] =>
  readDocument(page)
    .split(/^(?=#{1,6} )/m)
    .flatMap((text) => {
      const section = /^#+ (.*)/.exec(text)?.[1] ?? '';
      if (/^[ \t]+```/m.test(text)) throw new Error(`${page}: a block is indented, so no one runs it`);
      const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
      return blocks.flatMap(({ 1: language = '', 2: content = '', index }) =>
        blocksIn(language, content).map((block) => ({
          ...{ page, section, block },
          person: personIn(text.slice(0, index)),
        })),
      );
    });

const people: readonly [RegExp, Person][] = [
  [/\bas\s+(?:a\s+)?cluster\s+administrator|\bin the demo[^.]*\$ADMIN/gi, 'ADMIN'],
  [/\bas\s+bob\b|\bin the demo[^.]*\$BOB/gi, 'BOB'],
  [/\bas\s+alice\b/gi, 'KUBECONFIG'],
  [/in the target, as its administrator/gi, 'SHOP'],
];

function personIn(text: string): Person {
  const prose = text.replaceAll(/^```\w*\n.*?^```$/gms, '');
  const lastOf = (name: RegExp): number => [...prose.matchAll(name)].at(-1)?.index ?? -1;
  const named = people.map(([name, person]) => ({ person, at: lastOf(name) })).filter(({ at }) => at >= 0);
  return named.sort((one, other) => other.at - one.at)[0]?.person ?? 'KUBECONFIG';
}

function blocksIn(language: string, content: string): readonly (Command | Manifest)[] {
  if (language === 'console') return commandsIn(content);
  if (shownOnly.includes(language)) return [];
  if (language !== 'yaml') throw new Error(`write commands as "console", not as "${language}"`);
  const objects = parseAllDocuments(content).map((document) => document.toJS() as Applied);
  const isOverlay = objects[0]?.kind === 'Kustomization';
  // The others are fragments of an overlay, or configure an API server.
  if (!isOverlay && !objects.every(({ kind, metadata }) => kind && metadata?.name)) return [];
  const file = isOverlay ? 'kustomization.yaml' : `${objects[0]?.metadata.name}.yaml`;
  return [{ file, content, objects }];
}

export const isCommand = (step: Step): step is Step<Command> => 'command' in step.block;

export const isManifest = (step: Step): step is Step<Manifest> => 'content' in step.block;

/** Languages of blocks that no one runs. A block without one is what a program says. */
const shownOnly = ['', 'json', 'js', 'mermaid'];

/** A line that ends in a backslash goes on in the next one, and a document for the command is part of it. @throws Error where a block would escape. */
function commandsIn(block: string): readonly Command[] {
  if (!block.startsWith('$ ')) throw new Error(`a command begins with "$ ": ${block}`);
  const found = block.matchAll(/^\$ (.*<<'EOF'\n(?:.*\n)*?EOF|(?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm);
  return [...found].map(([, command = '', output = '']) => ({ command, output }));
}
