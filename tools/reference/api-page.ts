import { readdirSync } from 'node:fs';
import { parse } from 'yaml';
import { readDocument } from './document.ts';
import { code, page, table } from './markdown.ts';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-validations'?: readonly { readonly message: string }[];
}

interface Definition {
  readonly scope: string;
  readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
  readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }];
}

/** Kinds that hold a credential, in the order in which people meet them, and then what they are for. */
const files = [
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'virtualclusterinstancekubeconfigs',
  'virtualclusterinstances',
  'spaceinstances',
  'clusters',
  'credentiallocks',
];

const samples: Readonly<Record<string, string>> = {
  OwnedAccessKey: 'access-key-for-ci.yaml',
  DirectClusterEndpointToken: 'token-for-me.yaml',
  VirtualClusterInstanceKubeConfig: 'virtual-cluster/kubeconfig-with-token.yaml',
  VirtualClusterInstance: 'virtual-cluster/instance.yaml',
  SpaceInstance: 'cluster/space-instance.yaml',
  Cluster: 'cluster/cluster.yaml',
  CredentialLock: 'lock/lock-of-user.yaml',
};

/** docs/reference/api.md */
export function apiPage(): string {
  return page('API', 'crds/', [
    'Here you look up every field of every kind: its type, its default, its limits and the rules that the API server checks.',
    'In 60 seconds: find your kind, then the field. A name with dots is a field within a field, and `[]` stands for each entry of a list. `kubectl explain oak.spec` tells the same in a terminal.',
    'All kinds are of `management.platform.sh/v1`. Admission policies ask for more than a schema can: see [Ownership](../guide/ownership.md). [Reasons and codes](reasons.md) explains the words in status.',
    ...files.map((file) => kindSection(definitionOf(file))),
  ]);
}

/** Names of the files in crds/, for the test that none is missing. */
export const definitionFiles = (): readonly string[] =>
  readdirSync('crds')
    .filter((name) => name !== 'kustomization.yaml')
    .map((name) => name.replace('.yaml', ''));

const definitionOf = (file: string): Definition => parse(readDocument(`crds/${file}.yaml`)).spec;

function kindSection({ names, scope, versions: [{ schema }] }: Definition): string {
  const { description = '', properties = {}, ...rules } = schema.openAPIV3Schema;
  const short = (names.shortNames ?? []).map(code).join(', ');
  const place = scope === 'Namespaced' ? 'Each object is in a namespace.' : 'Objects have no namespace.';
  const sample = samples[names.kind];
  return [
    `## ${names.kind}`,
    sentence(description),
    `Resource ${code(names.plural)}${short && `, short ${short}`}. ${place} An example: [${sample}](../../config/samples/${sample}).`,
    ...messagesOf(rules),
    ...(['spec', 'status'] as const).flatMap((part) => partOf(part, properties[part])),
  ].join('\n\n');
}

function partOf(part: string, schema: Schema | undefined): readonly string[] {
  if (schema === undefined) return [];
  const rows = rowsOf(schema, part);
  return [
    `### ${part}`,
    sentence(schema.description ?? ''),
    ...messagesOf(schema),
    ...(rows.length === 0 ? [] : [table(['Field', 'Type', 'What it does'], rows)]),
  ];
}

/** One for each field, and those within it behind it. */
function rowsOf(schema: Schema, path: string): readonly (readonly string[])[] {
  const { properties = {}, required = [], items, additionalProperties: values } = schema;
  if (items !== undefined) return rowsOf(items, `${path}[]`);
  if (typeof values === 'object') return rowsOf(values, `${path}.*`);
  return Object.entries(properties).flatMap(([name, field]) => {
    const place = `${path}.${name}`;
    const text = [
      required.includes(name) ? 'Required.' : '',
      sentence(field.description ?? ''),
      limitsOf(field),
      ...rulesIn(field).map((message) => `Rule: ${code(message)}.`),
    ];
    return [[code(place), typeOf(field), text.filter(Boolean).join(' ')], ...rowsOf(field, place)];
  });
}

function typeOf(schema: Schema): string {
  const { type = 'any', format, items, additionalProperties: values, nullable } = schema;
  const orNull = nullable === true ? ' or null' : '';
  if (schema['x-kubernetes-int-or-string'] === true) return `integer or string${orNull}`;
  if (items !== undefined) return `list of ${typeOf(items)}${orNull}`;
  if (typeof values === 'object') return `map of ${typeOf(values)}${orNull}`;
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return `${type}, any content${orNull}`;
  return `${type}${format === undefined ? '' : ` (${format})`}${orNull}`;
}

function limitsOf(schema: Schema): string {
  const { items = membersOf(schema) } = schema;
  const parts = [
    schema.default === undefined ? '' : `Default: ${code(JSON.stringify(schema.default))}.`,
    schema.enum === undefined
      ? ''
      : `One of ${schema.enum.map((value) => code(JSON.stringify(value))).join(', ')}.`,
    range('Value', schema.minimum, schema.maximum),
    range('Characters', schema.minLength, schema.maxLength),
    range('Entries', schema.minItems, schema.maxItems ?? schema.maxProperties),
    schema.pattern === undefined ? '' : `Pattern: ${code(schema.pattern)}.`,
    range('Characters of an entry', items.minLength, items.maxLength),
    items.pattern === undefined ? '' : `Pattern of an entry: ${code(items.pattern)}.`,
    items.enum === undefined
      ? ''
      : `Entries: ${items.enum.map((value) => code(JSON.stringify(value))).join(', ')}.`,
  ];
  return parts.filter(Boolean).join(' ');
}

const membersOf = ({ additionalProperties: values }: Schema): Schema =>
  typeof values === 'object' ? values : {};

function range(what: string, least: number | undefined, most: number | undefined): string {
  if (least === undefined && most === undefined) return '';
  if (least === undefined) return `${what}: at most ${most}.`;
  return most === undefined ? `${what}: at least ${least}.` : `${what}: ${least} to ${most}.`;
}

/** Of the schema and of what has no row of its own. */
const rulesIn = ({ items, 'x-kubernetes-validations': own = [] }: Schema): readonly string[] => [
  ...own.map(({ message }) => message),
  ...(items === undefined ? [] : rulesIn(items)),
];

function messagesOf({ 'x-kubernetes-validations': rules = [] }: Schema): readonly string[] {
  if (rules.length === 0) return [];
  const lines = [...new Set(rules.map(({ message }) => message))].map(
    (message) => `- ${code(oneLine(message))}`,
  );
  return ['Rules, with what the API server says when one is broken:', lines.join('\n')];
}

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');
const sentence = oneLine;
