import { Document, isScalar, type Pair, Scalar, visit, YAMLSeq } from 'yaml';
import { specDigest } from '../../src/api/policy-spec.ts';
import type { Policy } from './policy.ts';

const header = (source: string): string =>
  `# Generated from ${source} by \`npm run generate\`. Do not edit.\n`;

/** A file of policies: each with the reason for it on top, followed by its binding. */
export function renderPolicies(source: string, policies: readonly Policy[]): string {
  const documents = policies.flatMap(({ about, manifests }) =>
    manifests.map((manifest, index) => `${index === 0 ? comment(about) : ''}${yaml(manifest)}`),
  );
  return header(source) + documents.join('---\n');
}

interface Version {
  readonly number: number;
  readonly hash: string;
}

/** The kustomization that puts the labels on them. */
export function renderKustomization(source: string, files: readonly string[], version: Version): string {
  const pairs = {
    'app.kubernetes.io/part-of': 'latchkey',
    'management.platform.sh/policy-version': version.number.toString(),
    'management.platform.sh/policy-hash': version.hash,
  };
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: files,
    labels: [{ pairs }],
  };
  return header(source) + yaml(kustomization);
}

/** Renders the policies that the operator compares with the API server. */
export function renderShipped(source: string, policies: readonly Policy[], version: number): string {
  const shipped = policies.flatMap(({ protects, manifests }) =>
    manifests.map(({ kind, metadata: { name }, spec }) => JSON.stringify({ kind, name, protects, spec })),
  );
  return `// Generated from ${source} by \`npm run generate\`. Do not edit.

export const policyVersion = ${version};

export type PolicyKind =
  | 'MutatingAdmissionPolicy'
  | 'MutatingAdmissionPolicyBinding'
  | 'ValidatingAdmissionPolicy'
  | 'ValidatingAdmissionPolicyBinding';

export interface ShippedPolicy {
  readonly kind: PolicyKind;
  readonly name: string;
  readonly protects: 'security' | 'comfort';
  readonly spec: object;
}

/** Every policy and binding of \`config/admission\`. While one that protects security is away, the operator confirms nothing new. */
export const shippedPolicies: readonly ShippedPolicy[] = [
${shipped.map((policy) => `  ${policy},`).join('\n')}
];
`;
}

/** Renders the digests by which the command line compares the policies with the API server: a tenth of their size. */
export function renderDigests(source: string, policies: readonly Policy[], version: number): string {
  const digests = policies.flatMap(({ manifests }) =>
    manifests.map(({ kind, metadata: { name }, spec }) => `  '${kind}/${name}': '${specDigest(spec)}',`),
  );
  return `// Generated from ${source} by \`npm run generate\`. Do not edit.

export const policyVersion = ${version};

/** Of the spec of every policy and binding of \`config/admission\`. */
export const policyDigests: Readonly<Record<string, string>> = {
${digests.join('\n')}
};
`;
}

function yaml(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, { Pair: (_, pair) => lay(pair) });
  return document.toString({ lineWidth: 120, flowCollectionPadding: false });
}

/** Short lists in one line, messages folded, CEL as it is written: the form in which people write manifests. */
function lay({ key, value }: Pair): void {
  if (value instanceof YAMLSeq) value.flow = value.items.length <= 3 && value.items.every(isScalar);
  if (!(value instanceof Scalar && isScalar(key) && typeof value.value === 'string')) return;
  if (key.value === 'message') value.type = 'BLOCK_FOLDED';
  else if (value.value.includes('\n')) value.type = 'BLOCK_LITERAL';
}

const comment = (prose: string): string =>
  `${prose.replaceAll(/^(.*)$/gm, '# $1').replaceAll(/ +$/gm, '')}\n`;
