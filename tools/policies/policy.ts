import { defined } from '../../src/api/json.ts';
import { group, systemNamespace } from '../../src/api/names.ts';
import type { PolicyErrorCode } from './policy-errors.ts';

/** An expression of each name, in the order in which they stand. */
export type Expressions = Readonly<Record<string, string>>;

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

/** Plurals of our group, or the ConfigMaps of the system namespace. */
type Target = { readonly resources: readonly string[] } | { readonly systemConfigMaps: true };

/**
 * Without one that protects security, someone gets what they should not have, and no one would ask again: the operator confirms nothing
 * new then. Without one for comfort, no one gets a right.
 */
export type Protects = 'security' | 'comfort';

interface Definition {
  readonly name: string;
  readonly protects: Protects;
  /** Why it is there; the first lines of the file that is applied. */
  readonly about: string;
  /** Default: Fail. */
  readonly failurePolicy?: 'Ignore';
  readonly operations: readonly Operation[];
  readonly matchConditions?: Expressions;
  readonly variables?: Expressions;
}

export type MutatingDefinition = Definition &
  Target & {
    /** Default: IfNeeded, so that no webhook has the last word. */
    readonly reinvocationPolicy?: 'Never';
    /** Each makes a list of JSON patches. */
    readonly mutations: readonly string[];
  };

export interface Validation {
  readonly expression: string;
  readonly message: string;
  readonly messageExpression?: string;
  /** Default: Forbidden. */
  readonly reason?: 'Invalid';
}

type Message = Required<Pick<Validation, 'message' | 'messageExpression'>>;

/**
 * A message that ends with who asks, about what (expressions by what people call them), and the code. Where it cannot be
 * evaluated, the API server prints the message with the code alone.
 *
 * The API server evaluates the messages of allowed requests, too, from what the validations left of the budget, and gives them no
 * authorizer. So they read names and nothing that costs.
 */
export const naming = (code: PolicyErrorCode, message: string, about: Expressions = {}): Message =>
  namingAfter(code, { message, messageExpression: `'${message.replaceAll("'", "\\'")}'` }, about);

/** The same for a message of which an expression says more. */
export function namingAfter(
  code: PolicyErrorCode,
  { message, messageExpression }: Message,
  about: Expressions = {},
): Message {
  const names = Object.entries({ requester: 'request.userInfo.username', ...about }).map(
    ([what, name]) => `${what} ' + strings.quote(string(${name})) + '`,
  );
  return {
    message: `${message} (code ${code})`,
    messageExpression: `${messageExpression} + ' (${[...names, `code ${code}`].join(', ')})'`,
  };
}

export type ValidatingDefinition = Definition &
  Target & {
    readonly validations: readonly Validation[];
  };

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A policy with its binding. */
export interface Policy {
  readonly about: string;
  readonly protects: Protects;
  readonly manifests: readonly Manifest[];
}

const apiVersion = 'admissionregistration.k8s.io/v1';

/** A MutatingAdmissionPolicy and its binding. */
export function mutating(definition: MutatingDefinition): Policy {
  const {
    name,
    about,
    protects,
    mutations,
    reinvocationPolicy = 'IfNeeded',
    failurePolicy = 'Fail',
  } = definition;
  const spec = {
    failurePolicy,
    reinvocationPolicy,
    ...judged(definition),
    mutations: mutations.map((expression) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })),
  };
  return pair({ about, protects, name, kind: 'MutatingAdmissionPolicy', spec, binding: {} });
}

/** A ValidatingAdmissionPolicy and its binding. */
export function validating(definition: ValidatingDefinition): Policy {
  const { name, about, protects, failurePolicy = 'Fail' } = definition;
  const spec = {
    failurePolicy,
    ...judged(definition),
    validations: definition.validations.map((validation) => ({
      ...validation,
      reason: validation.reason ?? 'Forbidden',
    })),
  };
  const binding = { validationActions: ['Deny'] };
  return pair({ about, protects, name, kind: 'ValidatingAdmissionPolicy', spec, binding });
}

function judged(definition: MutatingDefinition | ValidatingDefinition): Record<string, unknown> {
  const { matchConditions, variables } = definition;
  return defined({
    matchConstraints: constraints(definition),
    matchConditions: matchConditions && [joined(matchConditions)],
    variables: variables && named(variables),
  });
}

function constraints(definition: MutatingDefinition | ValidatingDefinition): Record<string, unknown> {
  const { operations } = definition;
  const versions = { apiVersions: ['*'], operations };
  if ('resources' in definition) {
    const rule = { apiGroups: [group], ...versions, resources: definition.resources, scope: '*' };
    return { resourceRules: [rule] };
  }
  const rule = {
    apiGroups: [''],
    ...versions,
    resources: ['configmaps'],
    scope: 'Namespaced',
  };
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': systemNamespace } };
  return { namespaceSelector, resourceRules: [rule] };
}

const named = (expressions: Expressions): object[] =>
  Object.entries(expressions).map(([name, expression]) => ({ name, expression }));

/** One, because the API server evaluates all of several, and the first false one makes the rest needless. */
function joined(conditions: Expressions): object {
  const expressions = Object.values(conditions);
  const expression =
    expressions.length === 1
      ? expressions[0]
      : expressions.map((one) => `(${one.replaceAll('\n', '\n  ')})`).join('\n&& ');
  const [name, ...others] = Object.keys(conditions);
  return { name: others.length === 0 ? name : 'applies', expression };
}

function pair(of: {
  readonly about: string;
  readonly protects: Protects;
  readonly name: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly binding: Readonly<Record<string, unknown>>;
}): Policy {
  const { about, protects, name, kind, spec, binding } = of;
  const metadata = { name };
  return {
    about,
    protects,
    manifests: [
      { apiVersion, kind, metadata, spec },
      { apiVersion, kind: `${kind}Binding`, metadata, spec: { policyName: name, ...binding } },
    ],
  };
}
