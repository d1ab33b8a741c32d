import { parseAllDocuments } from 'yaml';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { configFolder } from '../../../lab/operator/kustomization.ts';

export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: any object of Kubernetes, looked into by assertions.
  readonly [field: string]: any;
}

/** Renders a folder with `kubectl kustomize`: one of `config/`, or any by its whole path. */
export async function render(plane: ControlPlaneAccess, folder: string): Promise<Rendered[]> {
  const path = folder.startsWith('/') ? folder : `${configFolder}/${folder}`;
  const { stdout, stderr, exitCode } = await plane.kubectl(['kustomize', path]);
  if (exitCode !== 0) throw new Error(`kubectl kustomize ${path}: ${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Rendered);
}
