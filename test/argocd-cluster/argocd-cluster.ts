import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildGoProgram } from '../../lab/go/build-program.ts';

const run = promisify(execFile);

/** Its whole module stands on 1,300 packages, of which only the declarations below matter here. */
const argoCD = 'github.com/argoproj/argo-cd/v3@v3.5.7';

const declarations: Readonly<Record<string, readonly string[]>> = {
  'pkg/apis/application/v1alpha1/types.go': [
    ...['Cluster', 'ClusterConfig', 'TLSClientConfig', 'AWSAuthConfig', 'ExecProviderConfig'].map(struct),
    ...['ClusterInfo', 'ClusterCacheInfo', 'ConnectionState'].map(struct),
    'func SetK8SConfigDefaults(',
    'func ParseProxyUrl(',
    'func (c *Cluster) RawRestConfig(',
    'func (c *Cluster) RESTConfig(',
  ],
  'util/db/cluster.go': ['func SecretToCluster('],
};

function struct(name: string): string {
  return `type ${name} struct`;
}

const head = `package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)
`;

export interface ArgoCDAnswer {
  /** As Argo CD calls the cluster. */
  readonly name: string;
  readonly server: string;
  readonly project: string;
  /** Names of the namespaces that it lists there. */
  readonly namespaces: readonly string[];
}

/**
 * Builds a program that takes a Secret for a cluster with the code of Argo CD, into `folder`. `env`: its environment besides.
 * @throws Error where there is no `go`.
 */
export async function buildArgoCDCluster(
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<(secret: object) => Promise<ArgoCDAnswer>> {
  const [source, program] = [path.join(folder, 'argocd-cluster-source'), path.join(folder, 'argocd-cluster')];
  await mkdir(source);
  for (const file of ['go.mod', 'go.sum', 'main.go', 'surroundings.go'])
    await cp(path.join(import.meta.dirname, file), path.join(source, file));
  await writeFile(path.join(source, 'declarations.go'), await cutDeclarations(folder));
  if (!(await buildGoProgram(source, program)))
    throw new Error('there is no command "go": install Go 1.26, see CONTRIBUTING.md');
  return async (secret) => {
    const output = await new Promise<string>((resolve, reject) => {
      const options = { timeout: 240_000, env: { ...process.env, ...env } };
      const child = execFile(program, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr));
      });
      child.stdin?.end(JSON.stringify(secret));
    });
    return JSON.parse(output);
  };
}

/** As they stand in Argo CD; only the names of its other packages go. */
async function cutDeclarations(folder: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', argoCD], { cwd: folder, timeout: 240_000 });
  const root: string = JSON.parse(stdout).Dir;
  const files = await Promise.all(
    Object.entries(declarations).map(async ([file, starts]) => {
      const text = await readFile(path.join(root, file), 'utf8');
      return starts.map((start) => cut(text, start));
    }),
  );
  const code = files.flat().join('\n');
  return `${head}\n${code.replace(/\b(?:appv1|common)\./g, '').replaceAll('log.Warnf', 'fmt.Printf')}`;
}

function cut(text: string, start: string): string {
  const from = text.indexOf(`\n${start}`);
  if (from === -1) throw new Error(`Argo CD has no longer: ${start}`);
  return text.slice(from + 1, text.indexOf('\n}\n', from + 1) + 3);
}
