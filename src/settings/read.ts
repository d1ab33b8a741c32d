import { LatchkeyError } from '../errors.ts';
import { allGatewaySettings } from './gateway.ts';
import { allOperatorSettings } from './operator.ts';
import type { Setting, SettingDefinitions, ValuesOf } from './types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads every setting of a command. `computed`: values in place of those that the environment does not give.
 * Throws ERR_SETTINGS_INVALID that names each unusable variable with its fix, all at once.
 */
export function readSettings<Definitions extends SettingDefinitions>(
  definitions: Definitions,
  environment: Environment,
  computed: { readonly [Key in keyof Definitions]?: string },
): ValuesOf<Definitions> {
  const problems: string[] = [];
  const values = Object.entries(definitions).map(([key, definition]) => {
    const parsed = readOne(definition, environment, computed[key]);
    if ('problem' in parsed) problems.push(`  ${definition.name} ${parsed.problem}`);
    return [key, 'value' in parsed ? parsed.value : undefined];
  });
  if (problems.length > 0) throw new LatchkeyError('ERR_SETTINGS_INVALID', { problems: problems.join('\n') });
  return Object.fromEntries(values) as ValuesOf<Definitions>;
}

function readOne(definition: Setting<unknown>, environment: Environment, computed: string | undefined) {
  const given = environment[definition.name] ?? definition.default ?? computed;
  if (given === undefined)
    return { problem: `is required: set it to a value (${definition.type.description})` };
  if (given === '') return { problem: 'is set but empty: give it a value or remove it' };
  return definition.type.parse(given);
}

// Kubernetes adds these for every Service of the namespace, ours included.
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_|$)/;

/** Of all commands: they may share one ConfigMap, and none of them warns of the settings of another. */
const knownSettings: readonly Setting<unknown>[] = [
  ...Object.values(allOperatorSettings),
  ...Object.values(allGatewaySettings),
];

/** Names that look like settings of ours and are none: likely a typing error. */
export function unknownSettings(environment: Environment): readonly string[] {
  const known = new Set<string>(knownSettings.map(({ name }) => name));
  return Object.keys(environment)
    .filter((name) => name.startsWith('LATCHKEY_') && !known.has(name) && !serviceLink.test(name))
    .sort();
}
