import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { group } from '../../src/api/names.ts';

const folder = path.resolve(import.meta.dirname, '../../config/argocd/resource_customizations', group);

/** config/argocd/argocd-cm-patch.yaml: the health checks as an installation of Argo CD takes them. */
export function healthPatch(): string {
  const data = readdirSync(folder)
    .sort()
    .map((kind) => [
      `resource.customizations.health.${group}_${kind}`,
      readFileSync(path.join(folder, kind, 'health.lua'), 'utf8'),
    ]);
  const patch = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'argocd-cm', namespace: 'argocd' },
    data: Object.fromEntries(data),
  };
  return `${comment}${stringify(patch, { lineWidth: 0, blockQuote: 'literal' })}`;
}

const comment = `# Made from resource_customizations/ by npm run generate; change the files there.
#   kubectl patch configmap argocd-cm -n argocd --patch-file config/argocd/argocd-cm-patch.yaml
`;
