import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface GoModule {
  readonly path: string;
  readonly version: string;
  /** The digest that go.sum would have. */
  readonly sum: string;
}

/** Modules that others publish: charts and manifests too. */
export const modules = {
  certManager: {
    path: 'github.com/cert-manager/cert-manager',
    version: 'v1.21.2',
    sum: 'h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=',
  },
  argoCD: {
    path: 'github.com/argoproj/argo-cd/v3',
    version: 'v3.5.7',
    sum: 'h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0=',
  },
  gatewayAPI: {
    path: 'sigs.k8s.io/gateway-api',
    version: 'v1.5.1',
    sum: 'h1:RqVRIlkhLhUO8wOHKTLnTJA6o/1un4po4/6M1nRzdd0=',
  },
} as const satisfies Record<string, GoModule>;

/**
 * The folder of a module in Go's own cache, downloaded where it is not there yet. Nothing of it is compiled.
 * @throws Error when it is not what the digest says.
 */
export async function folderOf({ path, version, sum }: GoModule): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${path}@${version}`], {
    env: { ...process.env, GOFLAGS: '-mod=mod', GOWORK: 'off' },
    cwd: '/',
    timeout: 240_000,
  });
  const { Dir, Sum } = JSON.parse(stdout);
  if (Sum !== sum) throw new Error(`${path}@${version} has another digest than ${sum}`);
  return Dir;
}
