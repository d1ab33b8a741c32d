import { stringify } from 'yaml';
import { version } from '../../src/version.ts';
import type { KubeManifest } from './kustomization.ts';

/** Asks for the kind in the very version that the manifests use: some older clusters serve others of it. */
const question = 'kubectl get mutatingadmissionpolicies.v1.admissionregistration.k8s.io';

/** kubectl applies the objects that a cluster knows, and fails for the rest. No manifest can stop it, so its reader has to. */
const header = `# Latchkey ${version}, all objects of config/default. Written by \`npm run generate\`.
#
# Kubernetes must be 1.36 or newer in the cluster that Latchkey runs in. Put in your base URL and your image, and apply the file so:
#
#   ${question} && kubectl apply -f install.yaml
#
# "the server doesn't have a resource type" means that the cluster is too old. Without the question, kubectl would leave a part of
# these objects behind there. This takes them back. Where Latchkey works, it would delete every credential:
#
#   kubectl delete -f install.yaml --ignore-not-found
#
`;

/** dist/install.yaml: all manifests in one file, and above them what a reader does first. */
export function installYaml(objects: readonly KubeManifest[]): string {
  const texts = objects.map((object) =>
    stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false }),
  );
  return header + texts.join('---\n');
}
