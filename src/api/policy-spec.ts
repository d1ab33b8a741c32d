import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import { asObject, asText, isObject, type JsonObject } from './json.ts';

/** The values that the API server fills in when the manifest of a policy or binding does not have the field. */
export const policySpecDefaults: JsonObject = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
};

/** Fields with which a policy that lacks them judges less, or otherwise. Kubernetes may add others, with defaults. */
export const decisivePolicyFields: ReadonlySet<string> = new Set([
  ...['matchConstraints', 'matchConditions', 'variables', 'validations', 'mutations', 'auditAnnotations'],
  ...['paramKind', 'paramRef', 'matchResources', 'policyName', 'validationActions', 'failurePolicy'],
  ...['resourceRules', 'excludeResourceRules', 'namespaceSelector', 'objectSelector', 'matchPolicy'],
  ...['apiGroups', 'apiVersions', 'operations', 'resources', 'resourceNames', 'scope', 'reinvocationPolicy'],
  ...['matchLabels', 'matchExpressions', 'selector', 'namespace', 'name', 'parameterNotFoundAction'],
  ...['expression', 'message', 'messageExpression', 'reason', 'patchType', 'jsonPatch', 'applyConfiguration'],
]);

/**
 * The spec without variables that no expression names, directly or by way of others. They are never computed, and Helm leaves those of an
 * earlier release where it takes over a policy that was kept.
 */
export function withoutUnusedVariables(spec: unknown): unknown {
  if (!isObject(spec) || !Array.isArray(spec['variables'])) return spec;
  const { variables, ...rest } = spec;
  const named = new Map(variables.map((variable) => [asText(asObject(variable)['name']), variable]));
  const used = new Set<string>();
  const use = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/\bvariables\.(\w+)/g)) {
      if (used.has(name)) continue;
      used.add(name);
      if (named.has(name)) use(named.get(name));
    }
  };
  use(rest);
  const kept = variables.filter((variable) => used.has(asText(asObject(variable)['name']) ?? ''));
  return kept.length === 0 ? rest : { ...rest, variables: kept };
}

/** Equal for two specs of a policy or binding that mean the same: one from a manifest, the other with defaults from the API server. */
export const specDigest = (spec: unknown): string =>
  hash('sha256', canonicalJson(withoutDefaults(withoutUnusedVariables(spec), '')), 'hex').slice(0, 16);

function withoutDefaults(value: unknown, parent: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(item, parent));
  if (!isObject(value)) return value;
  // Keys of labels are not fields: each counts.
  const isLabels = parent === 'matchLabels';
  const kept = Object.entries(value).filter(
    ([name, member]) => isLabels || (decisivePolicyFields.has(name) && !isDefault(name, member)),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutDefaults(member, name)]));
}

const isDefault = (name: string, value: unknown): boolean =>
  Object.hasOwn(policySpecDefaults, name) && canonicalJson(value) === canonicalJson(policySpecDefaults[name]);
