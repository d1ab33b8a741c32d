import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

/** An object of Kubernetes as a manifest has it. */
export interface KubeManifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has fields of its own.
  [field: string]: any;
}

interface Generator {
  readonly name: string;
  readonly namespace: string;
  readonly literals?: readonly string[];
  readonly files?: readonly string[];
  readonly options?: { readonly labels?: Record<string, string>; readonly disableNameSuffixHash?: boolean };
}

interface Kustomization {
  readonly resources?: readonly string[];
  readonly namespace?: string;
  readonly images?: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[];
  readonly labels?: readonly { readonly pairs: Record<string, string> }[];
  readonly configMapGenerator?: readonly Generator[];
  readonly transformers?: readonly string[];
}

interface AnnotationsTransformer {
  readonly kind: string;
  readonly annotations: Record<string, string>;
  readonly fieldSpecs: readonly { readonly kind?: string; readonly group?: string }[];
}

/** Fields that this reader follows, and those that say nothing about the result. */
const known = new Set([
  ...['apiVersion', 'kind', 'sortOptions'],
  ...['resources', 'namespace', 'images', 'labels', 'configMapGenerator', 'transformers'],
]);

/**
 * Renders a folder of `config/` as `kubectl kustomize` does, without a program that a clone may not have. It knows the fields
 * that those folders use. @throws Error for any other field.
 */
export function renderKustomization(folder: string): readonly KubeManifest[] {
  const kustomization: Kustomization = parse(readFileSync(path.join(folder, 'kustomization.yaml'), 'utf8'));
  const unknown = Object.keys(kustomization).filter((field) => !known.has(field));
  if (unknown.length > 0)
    throw new Error(`${folder}/kustomization.yaml: cannot render "${unknown.join('", "')}"`);
  const objects = (kustomization.resources ?? []).flatMap((name) => load(path.join(folder, name)));
  for (const object of objects) place(object, kustomization);
  const made = (kustomization.configMapGenerator ?? []).map((generator) => configMap(folder, generator));
  const all = [...objects, ...made.map(({ object }) => object)];
  for (const { name, object } of made) renameReferences(all, name, object.metadata.name);
  for (const name of kustomization.transformers ?? []) annotate(all, path.join(folder, name));
  return all;
}

const documentsOf = (file: string): unknown[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS());

const load = (place: string): readonly KubeManifest[] =>
  statSync(place).isDirectory() ? renderKustomization(place) : (documentsOf(place) as KubeManifest[]);

function place(object: KubeManifest, { namespace, images = [], labels = [] }: Kustomization): void {
  if (namespace !== undefined && object.kind !== 'PriorityClass') object.metadata.namespace = namespace;
  const pairs = Object.assign({}, ...labels.map((label) => label.pairs));
  if (labels.length > 0) object.metadata.labels = { ...object.metadata.labels, ...pairs };
  for (const container of object['spec']?.template?.spec?.containers ?? []) {
    const image = images.find(({ name }) => name === container.image);
    if (image !== undefined) container.image = `${image.newName}:${image.newTag}`;
  }
}

function configMap(folder: string, { name, namespace, literals = [], files = [], options = {} }: Generator) {
  const data = Object.fromEntries([
    ...literals.map((literal) => split(literal)),
    ...files.map((file) => {
      const [key, source] = split(file);
      return [key, readFileSync(path.join(folder, source), 'utf8')];
    }),
  ]);
  const suffix = options.disableNameSuffixHash === true ? '' : `-${contentHash(data)}`;
  const { labels } = options;
  const metadata = { name: name + suffix, namespace, ...(labels === undefined ? {} : { labels }) };
  const object: KubeManifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
  return { name, object };
}

function split(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The suffix that kustomize gives: of the content without the name, in letters that make no words. */
function contentHash(data: Record<string, string>): string {
  const sorted = Object.fromEntries(Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const text = JSON.stringify({ data: sorted, kind: 'ConfigMap', name: '' }).replaceAll(
    /[<>&]/g,
    (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`,
  );
  const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 10);
  return [...digest].map((digit) => letters[digit] ?? digit).join('');
}

function renameReferences(objects: readonly KubeManifest[], from: string, to: string): void {
  const containers = objects.flatMap((object) => object['spec']?.template?.spec?.containers ?? []);
  for (const { configMapRef } of containers.flatMap(({ envFrom = [] }) => envFrom))
    if (configMapRef?.name === from) configMapRef.name = to;
}

function annotate(objects: readonly KubeManifest[], file: string): void {
  for (const { kind, annotations, fieldSpecs } of documentsOf(file) as AnnotationsTransformer[]) {
    if (kind !== 'AnnotationsTransformer') throw new Error(`${file}: cannot render "${kind}"`);
    for (const object of objects) {
      const [group] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [''];
      const applies = fieldSpecs.some(
        (spec) => (spec.kind ?? object.kind) === object.kind && (spec.group ?? group) === group,
      );
      if (applies) object.metadata.annotations = { ...object.metadata.annotations, ...annotations };
    }
  }
}
