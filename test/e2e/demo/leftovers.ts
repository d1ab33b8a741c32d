import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';

interface Item {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** What pages make. Kubeconfigs and tokens go before the keys above them. */
const kinds = [
  ...['virtualclusterinstancekubeconfigs', 'directclusterendpointtokens', 'ownedaccesskeys'],
  ...['virtualclusterinstances', 'spaceinstances', 'clusters.management.platform.sh'],
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
];

const placeOf = ({ kind, metadata }: Item): string => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;

/** Takes away what a page leaves, so that the next one finds the demo as a reader does who reads that page alone. */
export class Leftovers {
  readonly #plane: ControlPlaneAccess;
  readonly #kubeconfig: string;
  #known: ReadonlySet<string> = new Set();

  /** `kubeconfig` is that of an administrator. */
  constructor(plane: ControlPlaneAccess, kubeconfig: string) {
    this.#plane = plane;
    this.#kubeconfig = kubeconfig;
  }

  /** What is there now stays. */
  async remember(): Promise<void> {
    this.#known = new Set((await this.#items()).map(placeOf));
  }

  async remove(): Promise<void> {
    const items = (await this.#items()).filter((item) => !this.#known.has(placeOf(item)));
    if (items.length === 0) return;
    const list = { apiVersion: 'v1', kind: 'List', items };
    await this.#kubectl(['delete', '--ignore-not-found', '--timeout=90s', '-f', '-'], JSON.stringify(list));
  }

  async #items(): Promise<readonly Item[]> {
    const stdout = await this.#kubectl(['get', kinds.join(','), '--all-namespaces', '--output=json']);
    return (JSON.parse(stdout) as { items: Item[] }).items.map(({ apiVersion, kind, metadata }) => ({
      ...{ apiVersion, kind },
      metadata: { name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) },
    }));
  }

  async #kubectl(args: readonly string[], input?: string): Promise<string> {
    const options = { kubeconfig: this.#kubeconfig, ...(input !== undefined && { input }) };
    const { exitCode, stdout, stderr } = await this.#plane.kubectl([...args], options);
    if (exitCode !== 0) throw new Error(`kubectl ${args[0]}: ${stderr}`);
    return stdout;
  }
}
