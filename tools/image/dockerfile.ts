import { defined } from '../../src/api/json.ts';

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly image: string;
  readonly alias?: string;
  readonly instructions: readonly Instruction[];
}

/** The stages of a Dockerfile: continuation lines joined, comments left out, ARGs from before the first FROM filled in. */
export function parseDockerfile(text: string): readonly Stage[] {
  const instructions = instructionsOf(text);
  const first = instructions.findIndex(({ name }) => name === 'FROM');
  const defaults = instructions.slice(0, first).map(({ text: pair }) => pair.split('=') as [string, string]);
  const starts = instructions.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []));
  return starts.map((start, index) =>
    stageOf(instructions.slice(start, starts[index + 1]), new Map(defaults)),
  );
}

function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.replace(/\\\n/g, ' ').split('\n');
  return lines
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [name = '', ...rest] = line.trim().split(/\s+/);
      return { name: name.toUpperCase(), text: rest.join(' ') };
    });
}

function stageOf(
  [from, ...instructions]: readonly Instruction[],
  defaults: ReadonlyMap<string, string>,
): Stage {
  const [image = '', , alias] = (from?.text ?? '').split(' ');
  const filled = image.replace(/\$\{(\w+)\}/g, (_, name: string) => defaults.get(name) ?? '');
  return { image: filled, instructions, ...defined({ alias }) };
}

/** The texts of all instructions of one name. */
export function textsOf(stage: Stage, name: string): readonly string[] {
  return stage.instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

/** LABEL pairs of a stage. */
export function labelsOf(stage: Stage): Readonly<Record<string, string>> {
  const pairs = textsOf(stage, 'LABEL').flatMap((text) => [...text.matchAll(/([\w.]+)="([^"]*)"/g)]);
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value]));
}
