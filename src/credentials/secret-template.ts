import { hash } from 'node:crypto';
import { canonicalJson } from '../api/canonical-json.ts';
import { asObject, isObject } from '../api/json.ts';
import { group } from '../api/names.ts';

type Texts = Readonly<Record<string, string>>;

/** `spec.secretRef.template`: what the Secret of a credential has besides the credential. */
export interface SecretTemplate {
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Further data, as text in which `placeholder` stands for the credential. */
  readonly entries: Texts;
}

/** In an entry it stands for the credential, in the form in which Kubernetes writes variables. */
export const placeholder = '$(credential)';

/** Kubernetes takes no larger Secret; bytes. */
export const maxSecretBytes = 1_048_576;

/** Undefined for a `secretRef` without one. The schema has checked it; what is no text is left out. */
export function parseSecretTemplate(secretRef: unknown): SecretTemplate | undefined {
  const { template } = asObject(secretRef);
  if (!isObject(template)) return undefined;
  const { labels, annotations, entries } = template;
  return {
    labels: ofOthers(textsOf(labels)),
    annotations: ofOthers(textsOf(annotations)),
    entries: textsOf(entries),
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

/** The data that the template adds, in base64. */
export function renderEntries({ entries }: SecretTemplate, credential: string): Record<string, string> {
  const rendered = Object.entries(entries).map(([name, text]) => [
    name,
    Buffer.from(text.split(placeholder).join(credential)).toString('base64'),
  ]);
  return Object.fromEntries(rendered);
}

/** Bytes of the credential and of all that the template makes of it. A few words may ask for a great deal. */
export function renderedBytes({ entries }: SecretTemplate, credential: string): number {
  const each = Buffer.byteLength(credential);
  const sizes = Object.values(entries).map((text) => {
    const parts = text.split(placeholder);
    return Buffer.byteLength(parts.join('')) + (parts.length - 1) * each;
  });
  return sizes.reduce((sum, size) => sum + size, each);
}

/** To know the template by which a Secret was written. */
export const templateDigest = (template: SecretTemplate): string =>
  hash('sha256', canonicalJson(template), 'hex');
