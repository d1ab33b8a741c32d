import { LatchkeyError } from '../errors.ts';
import { allDirectEndpointSettings } from './direct-endpoint.ts';
import { allOperatorSettings } from './operator.ts';
import { removedSettings } from './removed.ts';
import type { Setting, SettingDefinitions, ValuesOf } from './types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads every setting of a command. Throws ERR_SETTINGS_INVALID that names each unusable or unknown variable with its fix, all at once. */
export function readSettings<Definitions extends SettingDefinitions>(
  definitions: Definitions,
  environment: Environment,
): ValuesOf<Definitions> {
  const problems: string[] = [];
  const values = Object.entries(definitions).map(([key, definition]) => {
    const parsed = readOne(definition, environment);
    if ('problem' in parsed) problems.push(`  ${definition.name} ${parsed.problem}`);
    return [key, 'value' in parsed ? parsed.value : undefined];
  });
  problems.push(...unknownSettings(environment).map((name) => `  ${name} ${unknownProblem(name)}`));
  if (problems.length > 0) throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems: problems.join('\n') });
  return Object.fromEntries(values) as ValuesOf<Definitions>;
}

function readOne(definition: Setting<unknown>, environment: Environment) {
  const given = environment[definition.name] ?? definition.default;
  if (given === undefined)
    return { problem: `is required: set it to a value (${definition.type.description})` };
  if (given === '') return { problem: 'is set but empty: give it a value or remove it' };
  return definition.type.parse(given);
}

/** Of all commands: they share one ConfigMap, and each of them knows the settings of the others. */
const knownSettings: readonly Setting<unknown>[] = [
  ...Object.values(allOperatorSettings),
  ...Object.values(allDirectEndpointSettings),
];

/** Names that look like settings of ours and are none. A limit with a typing error in its name would not hold. */
export function unknownSettings(environment: Environment): readonly string[] {
  const known = new Set<string>(knownSettings.map(({ name }) => name));
  return Object.keys(environment)
    .filter((name) => name.startsWith('LATCHKEY_') && !known.has(name))
    .sort();
}

// Kubernetes adds these for every Service of the namespace, ours included.
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_|$)/;

function unknownProblem(name: string): string {
  const instead = Object.entries(removedSettings).find(([removed]) => removed === name)?.[1];
  if (instead !== undefined) return `is no setting any more: remove it; ${instead}`;
  const nearest = findNearest(
    name,
    knownSettings.map((known) => known.name),
  );
  const fix = `is no setting: correct it to ${nearest}, which is the nearest, or remove it`;
  return serviceLink.test(name)
    ? `${fix}; if Kubernetes added it for a Service, set enableServiceLinks: false in the Pod`
    : fix;
}

function findNearest(name: string, candidates: readonly string[]): string {
  const distances = candidates.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }));
  return distances.reduce((best, next) => (next.distance < best.distance ? next : best)).candidate;
}

/** How many characters have to be put in, taken out or replaced (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, wanted] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (character === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
