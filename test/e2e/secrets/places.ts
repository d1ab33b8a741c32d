import type { World } from '../../../lab/operator/world.ts';

/** A piece of text, and where it stands. */
export interface Place {
  /** Of an object: `<kind>/[<namespace>/]<name> <path>`. */
  readonly where: string;
  readonly text: string;
}

/** Every text, and every name of a field, of every object that the administrator can list. */
export async function placesInObjects({ plane }: Pick<World, 'plane'>): Promise<readonly Place[]> {
  const names = await plane.kubectl(['api-resources', '--verbs=list,get', '-o', 'name']);
  const resources = names.stdout.trim().split('\n').join();
  const args = ['get', resources, '--all-namespaces', '-o', 'json', '--show-managed-fields'];
  const { stdout, stderr, exitCode } = await plane.kubectl(args);
  if (exitCode !== 0) throw new Error(`kubectl get of everything: ${stderr}`);
  return (JSON.parse(stdout).items as Listed[]).flatMap((item) => placesWithin(item, nameOf(item)));
}

interface Listed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const nameOf = ({ kind, metadata: { name, namespace } }: Listed): string =>
  [kind, namespace, name].filter((part) => part !== undefined).join('/');

function placesWithin(value: unknown, name: string, path: readonly string[] = []): readonly Place[] {
  const where = `${name} ${path.join('.')}`;
  if (typeof value === 'string') return [{ where, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, member]) => [
    { where: `${where} (name of a field)`, text: field },
    ...placesWithin(member, name, [...path, field]),
  ]);
}

/** Every line of a text such as a log. */
export const placesInText = (name: string, text: string): readonly Place[] =>
  text.split('\n').map((line, i) => ({ where: `${name} line ${i + 1}`, text: line }));
