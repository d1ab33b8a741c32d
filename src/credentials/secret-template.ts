import { hash } from 'node:crypto';
import { canonicalJson } from '../api/canonical-json.ts';
import { asObject, asText, defined, isObject } from '../api/json.ts';
import { group } from '../api/names.ts';
import { type ArgoCDCluster, argoCDClusterFormat, argoCDEntries } from './argocd-cluster.ts';

type Texts = Readonly<Record<string, string>>;

/** Everything that the Secret of a credential has besides the credential. */
export interface SecretLayout {
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Further data, as text in which `placeholder` stands for the credential. */
  readonly entries: Texts;
  /** The cluster that the Secret describes to Argo CD. */
  readonly cluster?: ArgoCDCluster;
}

/** The wishes of `spec.secretRef`, in `template`, `format` and `target`. */
export interface SecretTemplate extends Omit<SecretLayout, 'cluster'> {
  readonly format?: typeof argoCDClusterFormat;
  /** As the command line writes it, e.g. `cluster/staging`. */
  readonly target?: string;
}

/** In an entry it stands for the credential, in the form in which Kubernetes writes variables. */
const placeholder = '$(credential)';

/** Kubernetes takes no larger Secret; bytes. */
export const maxSecretBytes = 1_048_576;

/** Undefined for a `secretRef` that asks for nothing of it. The schema has checked it; what is no text is left out. */
export function parseSecretTemplate(secretRef: unknown): SecretTemplate | undefined {
  const { template, format, target } = asObject(secretRef);
  const isFormatted = format === argoCDClusterFormat;
  if (!isObject(template) && !isFormatted) return undefined;
  const { labels, annotations, entries } = asObject(template);
  return {
    labels: ofOthers(textsOf(labels)),
    annotations: ofOthers(textsOf(annotations)),
    entries: textsOf(entries),
    ...(isFormatted && { format, ...defined({ target: asText(target) }) }),
  };
}

const textsOf = (value: unknown): Texts =>
  Object.fromEntries(
    Object.entries(asObject(value)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );

/** By our names the operator knows whose a Secret is. The schema refuses them too. */
const ofOthers = (marks: Texts): Texts =>
  Object.fromEntries(Object.entries(marks).filter(([name]) => !isOwnName(name)));

/** Whether a label or an annotation is one of ours. */
export const isOwnName = (name: string): boolean => {
  const [prefix = ''] = name.split('/', 1);
  return name.includes('/') && (prefix === group || prefix.endsWith(`.${group}`));
};

/** The data besides the credential, in base64. */
export function renderEntries(
  { entries, cluster }: SecretLayout,
  credential: string,
): Record<string, string> {
  const given = Object.entries(entries).map(
    ([name, text]) => [name, text.split(placeholder).join(credential)] as const,
  );
  const described = cluster === undefined ? [] : Object.entries(argoCDEntries(cluster, credential));
  return Object.fromEntries(
    [...described, ...given].map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
}

/** Bytes of the credential and of all that is made of it, at the most. A few words may ask for a great deal. */
export function renderedBytes({ entries, cluster }: SecretLayout, credential: string): number {
  const each = Buffer.byteLength(credential);
  const sizes = Object.values(entries).map((text) => {
    const parts = text.split(placeholder);
    return Buffer.byteLength(parts.join('')) + (parts.length - 1) * each;
  });
  const described = cluster === undefined ? 0 : each + Buffer.byteLength(JSON.stringify(cluster)) * 2;
  return sizes.reduce((sum, size) => sum + size, each + described);
}

/** To know the layout by which a Secret was written. */
export const layoutDigest = (layout: SecretLayout): string => hash('sha256', canonicalJson(layout), 'hex');
